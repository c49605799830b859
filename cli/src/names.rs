//! Properties of files, folders and objects by their names.

use std::path::Path;

/// The extensions of frames and of zip files of frames.
const EXTENSIONS: [&str; 7] = ["b2nd", "b2frame", "b2e", "b2f", "b2b", "b2z", "caterva"];

/// Whether a file has a Blosc2 extension.
pub(crate) fn is_named_blosc2(path: &Path) -> bool {
    EXTENSIONS.into_iter().any(|name| has_extension(path, name))
}

/// The extensions that `mlarray` and `med-blosc2` give to frames. Other programs use these extensions for other
/// formats. So a file with one of these extensions is skipped in a searched folder if it is not a frame. But an empty
/// file counts as a damaged frame, because a writer that was stopped may have left it.
const EXTENSIONS_OF_OTHERS: [&str; 2] = ["mla", "mb2nd"];

/// Whether a file has one of the `EXTENSIONS_OF_OTHERS`.
pub(crate) fn may_be_blosc2(path: &Path) -> bool {
    EXTENSIONS_OF_OTHERS.into_iter().any(|name| has_extension(path, name))
}

/// The name of the array whose index this file contains. The name is taken from the file name: python-blosc2 writes an
/// index of `a.b2nd` to a file `a.__index__.….b2nd`.
pub(crate) fn indexed_array(path: &Path) -> Option<&str> {
    let (array, rest) = path.file_name()?.to_str()?.split_once(".__index__.")?;
    (!array.is_empty() && has_extension(Path::new(rest), "b2nd")).then_some(array)
}

/// Whether this is the temporary name of a new file or directory that b2nd-frame writes.
pub(crate) fn is_leftover(path: &Path) -> bool {
    has_extension(path, "tmp")
        && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".b2nd-"))
}

/// Whether a file has this extension, in upper or lower case. The dot must not be the first character of the name.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let (stem, end) = name.split_at(name.len().saturating_sub(extension.len()));
    end.eq_ignore_ascii_case(extension.as_bytes()) && matches!(stem, [_, .., b'.'])
}

/// The path of a file relative to a folder, with `/` as the separator.
pub(crate) fn name_in(folder: &Path, file: &Path) -> String {
    let name = file.strip_prefix(folder).unwrap_or(file);
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Whether a text is a URL: a scheme, then `://`.
pub(crate) fn is_url(text: &[u8]) -> bool {
    // RFC 3986: a letter, then letters, digits, plus, minus and dot. A single letter is not accepted as a scheme,
    // because it can be the letter of a Windows drive.
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let (scheme, rest) = text.split_at(text.iter().take_while(|byte| is_of_scheme(byte)).count());
    scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.len() > 1 && rest.starts_with(b"://")
}

/// Whether a URL ends with a slash, so that it names a prefix or a sparse frame.
pub(crate) fn ends_with_slash(url: &Path) -> bool {
    url.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Whether a URL may be a prefix of objects. A web server has no listing, so a URL of a web server counts as a prefix
/// only if it ends with a slash.
pub(crate) fn may_be_prefix(url: &Path) -> bool {
    let is_web = is_web(url.as_os_str().as_encoded_bytes());
    !is_named_blosc2(file_of(url)) && (ends_with_slash(url) || !is_web)
}

fn is_web(url: &[u8]) -> bool {
    url.starts_with(b"http://") || url.starts_with(b"https://")
}

/// Splits a URL before its query or fragment, which only http(s) URLs have.
pub(crate) fn split_query(url: &str) -> (&str, &str) {
    // In an object store, `?` and `#` are characters of a key.
    let end = url.find(['?', '#']).filter(|_| is_web(url.as_bytes())).unwrap_or(url.len());
    url.split_at(end)
}

/// Returns a path unchanged, and a URL without its query. So the file extension is at the end of the result.
pub(crate) fn file_of(path: &Path) -> &Path {
    path.to_str().map_or(path, |url| Path::new(split_query(url).0))
}

/// The path of a folder. An empty path, which is the parent of a bare file name, becomes `.`.
pub(crate) fn folder_or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

//! The command that mends what was found in a file.

use std::path::{Path, PathBuf};

use b2nd_serde::frame::{Code, Finding, Frame, Rewrite};

/// The findings that a rewrite removes.
const BY_REWRITE: [Code; 7] = [
    Code::OldFrame,
    Code::LostTypesize,
    Code::IndexSize,
    Code::MetalayerList,
    Code::StaleTail,
    Code::OldLayout,
    Code::UnsetBlockshape,
];

/// The command that mends what was found in the frame that a file or directory is; `None` if there is none.
///
/// A new file gets its name: with the extension `b2nd` if the old one has another, else that of the old file, which it
/// replaces. What the command would do is tried, without writing.
pub(crate) fn command<'f>(path: &Path, findings: impl IntoIterator<Item = &'f Finding>) -> Option<String> {
    if !findings.into_iter().any(|finding| BY_REWRITE.contains(&finding.code())) {
        return None;
    }
    let frame = Frame::open(path).ok()?;
    let lacks_dtype = frame.array().ok()?.is_some_and(|array| array.dtype().is_none());
    let typesize = frame.header().typesize;
    let dtype = lacks_dtype.then(|| dtype_of(typesize));
    let works = |to: &PathBuf| {
        let rewrite = Rewrite::new(path, to);
        let rewrite = if let Some(dtype) = &dtype { rewrite.dtype(dtype) } else { rewrite };
        rewrite.preview().is_ok()
    };
    let to = [path.with_extension("b2nd"), path.into()].into_iter().find(works)?;
    let command = format!("b2nd rewrite {} {}", quoted(path), quoted(&to));
    Some(match dtype {
        // The rest is a comment to a shell.
        Some(dtype) => format!("{command} --dtype {dtype}  # or another dtype of {typesize} bytes"),
        None => command,
    })
}

/// A dtype of a size.
fn dtype_of(size: i32) -> String {
    match size {
        1 => "uint8".into(),
        2 => "uint16".into(),
        4 => "float32".into(),
        8 => "float64".into(),
        16 => "complex128".into(),
        size => format!("V{size}"),
    }
}

/// A path as a shell reads it back.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if text.starts_with('-') { format!("./{text}") } else { text.into_owned() };
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else if cfg!(windows) {
        format!("\"{text}\"")
    } else if path.to_str().is_some_and(|path| !path.contains(char::is_control)) {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        // bash, ksh and zsh read these escapes.
        let bytes = path.as_os_str().as_encoded_bytes();
        let start = if bytes.starts_with(b"-") { "./" } else { "" };
        let escaped: Vec<String> = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("$'{start}{}'", escaped.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_shell_reads_a_quoted_path_back() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        for (path, expected) in [
            (&b"data/a-b_1.b2nd"[..], "data/a-b_1.b2nd"),
            (b"-x.b2nd", "./-x.b2nd"),
            (b"two words", "'two words'"),
            (b"it's", r"'it'\''s'"),
            (b"$HOME`x`", "'$HOME`x`'"),
            (b"a\nb", r"$'\x61\x0a\x62'"),
            (b"\xff", r"$'\xff'"),
            (b"", "''"),
        ] {
            assert_eq!(quoted(Path::new(OsStr::from_bytes(path))), expected);
        }
    }
}

//! The kinds of object that python-blosc2 stores in a frame, and the metalayers that identify them.

use core::fmt;

use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::header::section::{ARRAY_NAME, Metalayer, map_value};

macro_rules! kinds {
    ($($variant:ident $name:literal, $action:expr, $what:literal)*) => {
        /// The kind of object in a frame or a store. The kinds are named after classes of python-blosc2.
        ///
        /// The name of a kind does not change between releases. [`Display`](fmt::Display) and serde write this name.
        ///
        /// ```
        /// use b2nd_frame::{Frame, ObjectKind};
        ///
        /// let kind = Frame::open("tests/data/peers/lazy_expression.b2nd")?.kind();
        /// assert_eq!((kind, kind.name()), (ObjectKind::LazyExpr, "LazyExpr"));
        /// assert!(kind.is_active() && !kind.holds_data());
        /// # Ok::<(), b2nd_frame::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ObjectKind {
            $(#[doc = $what] $variant,)*
        }

        impl ObjectKind {
            /// All kinds.
            ///
            /// ```
            /// use b2nd_frame::ObjectKind;
            ///
            /// assert!(ObjectKind::ALL.contains(&ObjectKind::BatchArray));
            /// ```
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name of the kind's class in python-blosc2, such as `NDArray`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The action that a reader must take to get the data; `None` if reading the file is enough. The text
            /// completes the sentence "a reader must …".
            pub(crate) fn action(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => $action,)*
                }
            }
        }
    };
}

// A row has the variant, the name of the class in python-blosc2, the action that a reader must take to get the data,
// and the documentation of the variant.
kinds! {
    NDArray "NDArray", None,
        "An array, including arrays of Caterva, which C-Blosc2 3 and later open as plain chunks."
    SChunk "SChunk", None,
        "Chunks of bytes, without a shape."
    LazyExpr "LazyExpr", Some("evaluate an expression in the file, and open the arrays that it names"),
        "An expression that is evaluated when it is read."
    LazyUdf "LazyUDF", Some("run a function in the file, and open the arrays that it names"),
        "A user-defined function that computes the data when it is read."
    Proxy "Proxy", Some("open the array that it names, or fetch from it"),
        "A cache of another array. It has the chunks that were read so far."
    RemoteArray "RemoteArray", Some("fetch from the source that it names"),
        "An array in a remote file."
    C2Array "C2Array", Some("fetch from the server that it names"),
        "An array on a Caterva2 server."
    UnknownObject "UnknownObject", Some("support this kind of object"),
        "An object of python-blosc2 of an unknown kind."
    ObjectArray "ObjectArray", None,
        "Python objects, one in each chunk."
    BatchArray "BatchArray", None,
        "Batches of Python objects, one batch in each chunk."
    ListArray "ListArray", None,
        "Lists of items of one type."
    EmbedStore "EmbedStore", None,
        "A store whose members are frames in the compressed data of this frame."
    DictStore "DictStore", None,
        "A dictionary of frames, in a folder or zip file that contains this frame as `embed.b2e`."
    TreeStore "TreeStore", None,
        "A tree of frames, in a folder or zip file that contains this frame as `embed.b2e`."
    RemoteStore "RemoteStore", Some("fetch from the source that it names"),
        "A remote tree of frames. A local folder or zip file contains this frame as `embed.b2e`."
    CTable "CTable", None,
        "A table: a tree of frames, one or more for each column. Only a [`Store`](crate::Store) is of this kind."
    RemoteCTable "RemoteCTable", Some("fetch from the source that it names"),
        "A remote table. Only a [`Store`](crate::Store) is of this kind."
}

impl ObjectKind {
    /// Whether an object of this kind stores its data. If not, the data is computed or remote, and the frame has at
    /// most a cache of a part of the data.
    #[must_use]
    pub fn holds_data(self) -> bool {
        !self.is_active()
    }

    /// Whether a reader must run code, open other files or fetch remote data to get the items.
    #[must_use]
    pub fn is_active(self) -> bool {
        self.action().is_some()
    }

    /// Refuses every kind except plain arrays and plain chunks. Any other object is not an array, or its data is not
    /// completely in the frame.
    pub(crate) fn refuse_without_items(self) -> Result<(), Error> {
        let why = match self {
            Self::NDArray | Self::SChunk => return Ok(()),
            Self::Proxy => "is a cache, which may lack a part of it",
            _ => "is not here",
        };
        Err(match self.action() {
            Some(action) => {
                Error::unsupported(format_args!("the data of this {self} {why}: a reader must {action}"))
            }
            None => Error::unsupported(format_args!("the frame has no array: it is of the kind {self}")),
        })
    }

    /// Whether an object of this kind is a store, which is a collection of other frames.
    ///
    /// ```
    /// use b2nd_frame::{Frame, ObjectKind};
    ///
    /// let kind = Frame::open("tests/data/peers/store.b2e")?.kind();
    /// assert!(kind == ObjectKind::EmbedStore && kind.is_store());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn is_store(self) -> bool {
        matches!(
            self,
            Self::EmbedStore
                | Self::DictStore
                | Self::TreeStore
                | Self::RemoteStore
                | Self::CTable
                | Self::RemoteCTable
        )
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for ObjectKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The metalayers that identify a kind. If a frame has several of them, the first one in this list determines the kind.
// python-blosc2 uses the same order. But it uses the metalayer of a store only if the file has the name `embed.b2e` or
// the extension `b2e`. This crate determines the kind from the header alone, without the name of the file. So the
// metalayers of stores are last in the list, and count only if the frame has no other metalayer of the list.
const KIND_METALAYERS: &[(&str, ReadKind)] = &[
    ("proxy-source", |_| ObjectKind::Proxy),
    ("b2o", object),
    ("listarray", |_| ObjectKind::ListArray),
    ("vlarray", |_| ObjectKind::ObjectArray),
    ("batcharray", |_| ObjectKind::BatchArray),
    (LAZY_ARRAY, lazy_array),
    ("b2remote_store", |_| ObjectKind::RemoteStore),
    ("b2embed", |_| ObjectKind::EmbedStore),
    ("b2dict", |_| ObjectKind::DictStore),
    ("b2tree", |_| ObjectKind::TreeStore),
];

/// A function that reads the kind of an object from the metalayer that identifies the kind.
type ReadKind = fn(&Metalayer) -> ObjectKind;

/// The metalayer of a lazy array of python-blosc2 3. It identifies a lazy array only if the frame also has the
/// metalayer `b2nd`.
const LAZY_ARRAY: &str = "LazyArray";

/// The kind of an object with the metalayer `b2o`. The metalayer is a map, and the value of its key `kind` is the name
/// of the kind.
fn object(layer: &Metalayer) -> ObjectKind {
    match map_value::<String>(layer.bytes(), "kind").as_deref() {
        Some("lazyexpr") => ObjectKind::LazyExpr,
        Some("lazyudf") => ObjectKind::LazyUdf,
        Some("remote_array") => ObjectKind::RemoteArray,
        Some("c2array") => ObjectKind::C2Array,
        // python-blosc2 knows only the kinds above. It does not open an object of any other kind.
        _ => ObjectKind::UnknownObject,
    }
}

fn lazy_array(layer: &Metalayer) -> ObjectKind {
    match layer.decode() {
        Ok(0) => ObjectKind::LazyExpr,
        Ok(1) => ObjectKind::LazyUdf,
        _ => ObjectKind::UnknownObject,
    }
}

/// The kind of a frame, and the metalayer that identifies the kind. `None` if the frame is a plain array or plain
/// chunks.
pub(crate) fn metalayer_kind(metalayers: &[Metalayer]) -> Option<(ObjectKind, &Metalayer)> {
    let find = |name: &str| metalayers.iter().find(|layer| layer.name() == name);
    let counts = |name: &str| name != LAZY_ARRAY || find(ARRAY_NAME).is_some();
    let mut candidates = KIND_METALAYERS.iter().filter(|(name, _)| counts(name));
    candidates.find_map(|(name, kind)| find(name).map(|layer| (kind(layer), layer)))
}

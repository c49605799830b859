//! Codecs, by their numbers in C-Blosc2.

use core::fmt;

/// The first of the numbers that users can give to their own codecs and filters
/// (`BLOSC2_USER_REGISTERED_CODECS_START`).
pub(crate) const FIRST_OF_USERS: u8 = 160;

macro_rules! codecs {
    ($($constant:ident $id:literal $name:literal $what:literal)*) => {
        /// A compression codec, by its number in C-Blosc2.
        ///
        /// | constant | number | name | codec |
        /// |---|---|---|---|
        $(#[doc = concat!("| `", stringify!($constant), "` | ", $id, " | `", $name, "` | ", $what, " |")])*
        ///
        /// ```
        /// use b2nd_chunk::Codec;
        ///
        /// assert_eq!(Codec::ZSTD.to_string(), "zstd");
        /// assert_eq!(Codec(200).name(), None);
        /// assert_eq!(Codec(200).to_string(), "codec 200");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct Codec(pub u8);

        impl Codec {
            $(
                #[doc = concat!("`", $name, "`: ", $what, ".")]
                pub const $constant: Self = Self($id);
            )*

            /// The name of the codec in C-Blosc2, or in its registry of plugins. `None` for an unknown number, and for
            /// the numbers 160 to 255, which any program may use for its own codecs.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($id => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

codecs! {
    BLOSCLZ 0 "blosclz" "Blosc's own"
    LZ4 1 "lz4" "LZ4"
    LZ4HC 2 "lz4hc" "LZ4 with better but slower compression, in the same format"
    ZLIB 4 "zlib" "Deflate"
    ZSTD 5 "zstd" "Zstandard"
    NDLZ 32 "ndlz" "a plugin for two dimensions"
    ZFP_ACC 33 "zfp_acc" "zfp with a fixed accuracy, a plugin"
    ZFP_PREC 34 "zfp_prec" "zfp with a fixed precision, a plugin"
    ZFP_RATE 35 "zfp_rate" "zfp with a fixed rate, a plugin"
    OPENHTJ2K 36 "openhtj2k" "JPEG 2000, a plugin"
    GROK 37 "grok" "JPEG 2000, a plugin"
    OPENZL 38 "openzl" "OpenZL, a plugin"
    J2K 39 "j2k" "JPEG 2000, a plugin"
    HTJ2K 40 "htj2k" "High-Throughput JPEG 2000, a plugin"
}

impl Codec {
    /// Whether the number belongs neither to a known codec nor to the range for users, 160 to 255.
    #[doc(hidden)]
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self.0 < FIRST_OF_USERS && self.name().is_none()
    }

    /// Whether every build of C-Blosc2 has the codec.
    pub(crate) fn is_built_in(self) -> bool {
        [Self::BLOSCLZ, Self::LZ4, Self::LZ4HC, Self::ZLIB, Self::ZSTD].contains(&self)
    }

    /// Whether the codec may use a dictionary. Also true for every codec that is not built in, because this crate does
    /// not know whether such a codec uses a dictionary.
    #[doc(hidden)]
    #[must_use]
    pub fn takes_dictionary(self) -> bool {
        ![Self::BLOSCLZ, Self::ZLIB].contains(&self)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "codec {}", self.0),
        }
    }
}

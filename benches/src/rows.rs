//! The rows of the table: what is measured against what, and the ratio that is wanted.

pub const RANKS: [u8; 4] = [1, 3, 8, 16];

#[derive(Debug)]
pub struct Row {
    pub operation: &'static str,
    pub against: &'static str,
    /// The highest ratio that is wanted, for each rank; `None` where the ratio is only reported.
    pub goal: Option<[f64; RANKS.len()]>,
}

macro_rules! rows {
    ($($constant:ident $operation:literal / $against:literal $goal:expr;)*) => {
        $( pub static $constant: Row = Row { operation: $operation, against: $against, goal: $goal }; )*

        /// All rows, in the order of the page.
        pub static ROWS: &[&Row] = &[$( &$constant ),*];
    };
}

rows! {
    TO_SLICE "`to_slice`, struct with `Vec`s" / "`b2nd_serialize_meta`" Some([0.6; 4]);
    TO_SLICE_OWN_NAMES "`to_slice`, the same with own names" / "with the format's names" Some([1.1; 4]);
    TO_SLICE_TUPLE "`to_slice`, the same as a tuple struct" / "with the format's names" None;
    TO_SLICE_BY_HAND "`to_slice`, struct with `Vec`s" / "hand-written encoder" Some([1.3; 4]);
    TO_VEC "`to_vec`, struct with `Vec`s" / "`b2nd_serialize_meta`" Some([1.4, 1.15, 1.0, 0.85]);
    TO_VEC_BY_HAND "`to_vec`, struct with `Vec`s" / "hand-written encoder" Some([1.3; 4]);
    TO_VEC_RMP "`to_vec`, struct with `Vec`s" / "rmp-serde, into its own bytes" None;
    TO_VEC_PURE "`to_vec`, struct with `Vec`s" / "blosc2-pure-rs, `B2ndMeta::serialize`" None;
    ARRAYS "`from_slice`, arrays and `&str`" / "`b2nd_deserialize_meta`" Some([0.9, 1.0, 1.0, 0.85]);
    ARRAYS_ONCE "`from_slice`, the same in one place only" / "`b2nd_deserialize_meta`" Some([0.9, 1.0, 1.0, 0.85]);
    ARRAYS_DIMS "`from_slice`, the same with `b2nd_serde::dims`" / "`b2nd_deserialize_meta`" Some([0.9, 1.0, 1.0, 0.85]);
    ARRAYS_OWN_NAMES "`from_slice`, the same with own names" / "with the format's names" Some([1.1; 4]);
    ARRAYS_TUPLE "`from_slice`, the same as a tuple struct" / "with the format's names" None;
    ARRAYS_BY_HAND "`from_slice`, arrays and `&str`" / "hand-written decoder" Some([1.3; 4]);
    META "`from_slice`, `Meta`" / "`b2nd_deserialize_meta`" Some([2.2; 4]);
    META_BY_HAND "`from_slice`, `Meta`" / "hand-written decoder into `Meta`" Some([1.4; 4]);
    VECS "`from_slice`, `Vec`s and `String`" / "rmp-serde, from the same bytes" Some([0.6, 0.55, 0.5, 0.5]);
    VECS_OWN_NAMES "`from_slice`, the same with own names" / "with the format's names" Some([1.1; 4]);
    VECS_TUPLE "`from_slice`, the same as a tuple struct" / "with the format's names" None;
    VECS_BY_HAND "`from_slice`, `Vec`s and `String`" / "hand-written decoder" Some([1.3; 4]);
    VECS_RMP "`from_slice`, `Vec`s and `String`" / "rmp-serde, from its own bytes" None;
    VECS_PURE "`from_slice`, `Vec`s and `String`" / "blosc2-pure-rs, `B2ndMeta::deserialize`" None;
    FRAME "`Frame` from a prefix, with `array()`" / "two reads of 512 bytes of a cached file" None;
    FRAME_AND_META "`Frame` from a prefix, with `array()`" / "`from_slice`, `Meta`" None;
}

//! The rows of the table: an operation, its peer, and the goal of the ratio.

pub const RANKS: [u8; 4] = [1, 3, 8, 16];

#[derive(Debug)]
pub struct Row {
    pub operation: &'static str,
    pub against: &'static str,
    /// The goal, which is the highest ratio for each rank; `None` if the ratio is only reported.
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
    TO_VEC "`to_vec`, struct with `Vec`s" / "`b2nd_serialize_meta`" Some([1.54, 1.28, 1.01, 0.85]);
    TO_VEC_RMP "`to_vec`, struct with `Vec`s" / "rmp-serde, into its own bytes" None;
    TO_VEC_PURE "`to_vec`, struct with `Vec`s" / "blosc2-pure-rs, `B2ndMeta::serialize`" None;
    ARRAYS "`from_slice`, arrays and `&str`" / "`b2nd_deserialize_meta`" Some([0.89, 0.84, 0.89, 0.9]);
    META "`from_slice`, `Meta`" / "`b2nd_deserialize_meta`" Some([2.6, 1.9, 2.1, 1.5]);
    VECS "`from_slice`, `Vec`s and `String`" / "rmp-serde, from the same bytes" Some([0.58, 0.53, 0.51, 0.51]);
    VECS_PURE "`from_slice`, `Vec`s and `String`" / "blosc2-pure-rs, `B2ndMeta::deserialize`" None;
    FRAME "`Frame` from a prefix, with `array()`" / "two reads of 512 bytes of a cached file" None;
}

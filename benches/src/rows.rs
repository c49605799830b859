//! The rows of the table: what is measured against what, and the ratio that is wanted.

pub const RANKS: [u8; 4] = [1, 3, 8, 16];

#[derive(Debug)]
pub struct Row {
    /// What criterion calls it.
    pub name: &'static str,
    pub operation: &'static str,
    pub against: &'static str,
    /// The highest ratio that is wanted, for each rank; `None` where the ratio is only reported.
    pub goal: Option<[f64; RANKS.len()]>,
}

pub const TO_SLICE: Row = Row {
    name: "to_slice, C-Blosc2",
    operation: "`to_slice`, derived struct with `Vec`s",
    against: "`b2nd_serialize_meta`",
    goal: Some([0.6; 4]),
};

pub const TO_VEC: Row = Row {
    name: "to_vec, C-Blosc2",
    operation: "`to_vec`, the same struct",
    against: "`b2nd_serialize_meta`",
    goal: Some([1.3, 1.0, 0.9, 0.75]),
};

pub const TO_ARRAYS: Row = Row {
    name: "from_slice to arrays, C-Blosc2",
    operation: "`from_slice` into `[u64; N]` and `&str`",
    against: "`b2nd_deserialize_meta`, out-arrays not zeroed",
    goal: Some([0.9; 4]),
};

pub const TO_META: Row = Row {
    name: "from_slice to Meta, hand-written",
    operation: "`from_slice` into `Meta`",
    against: "hand-written decoder into `Meta`",
    goal: Some([1.4; 4]),
};

pub const TO_VECS: Row = Row {
    name: "from_slice to Vecs, rmp-serde",
    operation: "`from_slice` into a struct with `Vec`s and `String`",
    against: "rmp-serde, from the same bytes",
    goal: Some([0.45; 4]),
};

pub const TO_SLICE_BY_HAND: Row = Row {
    name: "to_slice, hand-written",
    operation: "`to_slice`, derived struct with `Vec`s",
    against: "hand-written encoder",
    goal: Some([1.3; 4]),
};

pub const TO_VEC_BY_HAND: Row = Row {
    name: "to_vec, hand-written",
    operation: "`to_vec`, the same struct",
    against: "hand-written encoder",
    goal: Some([1.3; 4]),
};

pub const TO_ARRAYS_BY_HAND: Row = Row {
    name: "from_slice to arrays, hand-written",
    operation: "`from_slice` into `[u64; N]` and `&str`",
    against: "hand-written decoder",
    goal: Some([1.3; 4]),
};

pub const TO_VECS_BY_HAND: Row = Row {
    name: "from_slice to Vecs, hand-written",
    operation: "`from_slice` into a struct with `Vec`s and `String`",
    against: "hand-written decoder",
    goal: Some([1.3; 4]),
};

pub const FRAME: Row = Row {
    name: "Frame, two reads",
    operation: "`Frame` from a header prefix, `array()` included",
    against: "two reads of 512 bytes of a file in the page cache",
    goal: None,
};

pub const FRAME_AND_META: Row = Row {
    name: "Frame, from_slice",
    operation: "`Frame` from a header prefix, `array()` included",
    against: "`from_slice` of its metalayer into `Meta`",
    goal: None,
};

pub const TO_VEC_RMP: Row = Row {
    name: "to_vec, rmp-serde",
    operation: "`to_vec`, the same struct",
    against: "rmp-serde, into its own bytes",
    goal: None,
};

pub const TO_VECS_RMP: Row = Row {
    name: "from_slice to Vecs, rmp-serde from its own bytes",
    operation: "`from_slice` into a struct with `Vec`s and `String`",
    against: "rmp-serde, from its own bytes",
    goal: None,
};

pub const TO_VEC_PURE: Row = Row {
    name: "to_vec, blosc2-pure-rs",
    operation: "`to_vec`, the same struct",
    against: "blosc2-pure-rs, `B2ndMeta::serialize`",
    goal: None,
};

pub const TO_VECS_PURE: Row = Row {
    name: "from_slice to Vecs, blosc2-pure-rs",
    operation: "`from_slice` into a struct with `Vec`s and `String`",
    against: "blosc2-pure-rs, `B2ndMeta::deserialize`",
    goal: None,
};

//! The parts of MessagePack that frames use: markers, tokens, a cursor over bytes, and the rules for values.

// Each module imports only from the modules above it.
pub(crate) mod marker;

pub(crate) mod token;

pub(crate) mod cursor;

pub(crate) mod value_rules;

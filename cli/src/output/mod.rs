//! The output of the command: lines, pages and JSON objects.

pub(crate) mod explanation;
pub(crate) mod json;
pub(crate) mod mend;
pub(crate) mod messagepack;
pub(crate) mod picture;
pub(crate) mod table;
pub(crate) mod totals;

pub(crate) mod items;

pub(crate) mod record;

pub(crate) mod store;

pub(crate) mod change;
pub(crate) mod chunks;
pub(crate) mod page;
pub(crate) mod row;
pub(crate) mod salvage;
pub(crate) mod sort;
pub(crate) mod summary;

pub(crate) mod checked;

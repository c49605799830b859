//! Stores of python-blosc2 and the tables in them: their kinds and contents.

use std::path::Path;

use b2nd_frame::{Finding, FindingCode, ObjectKind, Store, Trailer, is_store_folder};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::record::{LayerRecord, vlmetalayers};
use crate::input::{
    Address, Inside, Location, ShownValues, Target, View, Visit, find_table, store_of_files, visit_files,
};
use crate::names::{is_named_blosc2, name_in};

/// A store, or a table in a store.
#[derive(Serialize)]
pub(crate) struct StoreRecord {
    /// The address of the store or table. For a table in a zip file, this is the address of a member: the folder of the
    /// table.
    #[serde(flatten)]
    pub(crate) address: Address,
    pub(crate) kind: ObjectKind,
    /// The keys of the members of a store; `None` for a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<Vec<String>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<TableRecord>,
    /// The attributes of the store and of its groups. Only `info` reads them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<AttributeRecord>,
    pub(crate) findings: Vec<Finding>,
}

/// An attribute of a store or of a group in it.
#[derive(Serialize)]
pub(crate) struct AttributeRecord {
    /// The key of the group; `/` for the store.
    pub(crate) key: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Box<RawValue>>,
    /// The reason for a missing value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The name of the file that stores the attributes of a group as vlmetalayers.
const ATTRIBUTES_FILE: &str = "__vlmeta__.b2f";

/// The metadata of a table.
#[derive(Default, Serialize)]
pub(crate) struct TableRecord {
    /// The number of rows; `None` if the schema cannot be read, or lacks this number because the writer did not close
    /// the table.
    pub(crate) rows: Option<u64>,
    pub(crate) columns: Vec<ColumnRecord>,
}

/// A column, read from the JSON of python-blosc2 and printed by `--json`.
#[derive(Deserialize, Serialize)]
pub(crate) struct ColumnRecord {
    pub(crate) name: String,
    #[serde(rename(serialize = "type"))]
    pub(crate) kind: String,
    #[serde(skip_serializing)]
    max_length: Option<u64>,
    #[serde(skip_serializing)]
    dtype_str: Option<String>,
    #[serde(skip_serializing)]
    dtype: Option<String>,
    /// The shape of each item; empty for a single value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) item_shape: Vec<i64>,
}

/// The JSON that python-blosc2 writes about a table.
#[derive(Deserialize)]
struct Schema {
    n_rows: Option<u64>,
    columns: Vec<ColumnRecord>,
    #[serde(default)]
    computed_columns: Vec<ColumnRecord>,
}

impl ColumnRecord {
    /// If the column has a dtype, replaces the kind of the column by the dtype.
    fn with_dtype(mut self) -> Self {
        self.kind = match (&*self.kind, self.max_length) {
            // These are the type strings of NumPy for texts and bytes.
            ("string", Some(length)) => format!("<U{length}"),
            ("bytes", Some(length)) => format!("|S{length}"),
            _ => self.dtype_str.take().or(self.dtype.take()).unwrap_or(self.kind),
        };
        self
    }
}

/// The maximum length of a schema in bytes. A longer schema is not read, because a few compressed bytes can expand to
/// any length.
const LONGEST_SCHEMA: usize = 1 << 24;

impl From<Schema> for TableRecord {
    fn from(schema: Schema) -> Self {
        let columns = schema.columns.into_iter().chain(schema.computed_columns);
        Self { rows: schema.n_rows, columns: columns.map(ColumnRecord::with_dtype).collect() }
    }
}

/// The schema of a table, from its file `_meta.b2f`.
fn schema(trailer: &Trailer) -> Option<Schema> {
    let layer = trailer.vlmetalayer("schema").filter(|layer| layer.nbytes() <= Some(LONGEST_SCHEMA))?;
    serde_json::from_str(&layer.decode::<String>().ok()?).ok()
}

impl StoreRecord {
    /// The record of a store, and then the records of the tables in it. A store that is itself a table has one record.
    pub(crate) fn all(target: &Target, store: &Store) -> Vec<Self> {
        let whole = (store.kind() != ObjectKind::CTable).then(|| Self {
            address: target.location().into(),
            kind: store.kind(),
            members: Some(store.members().to_vec()),
            table: store
                .remote_schema()
                .and_then(|schema| serde_json::from_str::<Schema>(schema).ok())
                .map(Into::into),
            attributes: Vec::new(),
            findings: store.mounts().iter().map(elsewhere).collect(),
        });
        let tables = store.tables().map(|(key, trailer)| Self::of_table(target, key, trailer));
        whole.into_iter().chain(tables).collect()
    }

    /// The record of a store in a single file.
    pub(crate) fn of_file(view: View<'_>) -> Self {
        Self {
            address: view.location.into(),
            kind: view.kind,
            members: Some(view.embedded()),
            table: None,
            attributes: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn of_table(target: &Target, key: &str, trailer: &Trailer) -> Self {
        // A key begins with a slash. The name of a folder in a zip file does not begin with a slash.
        let folder = key.trim_start_matches('/');
        let inside = match target.inside {
            Inside::Url(_) => Inside::Url(Some(folder)),
            _ => Inside::Member(folder),
        };
        let address = match folder {
            "" => target.location().into(),
            _ if target.is_store => Address::new(target.path.join(folder)),
            _ => Location { path: &target.path, inside }.into(),
        };
        let schema = schema(trailer);
        let mut findings = Vec::new();
        let table = schema.map_or_else(TableRecord::default, |schema| {
            let computed = schema.computed_columns.iter().map(|column| column.name.as_str());
            let names = computed.collect::<Vec<_>>().join(", ");
            if !names.is_empty() {
                findings.push(active(format!("the table has columns that a reader must evaluate: {names}")));
            }
            if schema.n_rows.is_none() {
                let message = "the table was not closed: its number of rows is missing";
                findings.push(Finding::of_file(FindingCode::UnclosedTable, message));
            }
            schema.into()
        });
        Self {
            address,
            kind: ObjectKind::CTable,
            members: None,
            table: Some(table),
            attributes: Vec::new(),
            findings,
        }
    }

    /// Adds information from the files of the store: the attributes of its groups, and a warning that names the frames
    /// whose data a reader must evaluate or fetch.
    pub(crate) fn add_from_files(&mut self, target: &Target, values: ShownValues) {
        let mut names = Vec::new();
        visit_files(target, Visit { values, ..Visit::default() }, &mut |view| {
            let Ok(view) = view else { return };
            let name =
                view.location.member().map_or_else(|| name_in(&target.path, view.location.path), Into::into);
            if let Some(group) = name.strip_suffix(ATTRIBUTES_FILE) {
                let key = format!("/{}", group.trim_matches('/'));
                self.attributes.extend(vlmetalayers(view).into_iter().flatten().map(|layer| {
                    let LayerRecord { name, value, error, .. } = layer;
                    AttributeRecord { key: key.clone(), name: name.into(), value, error }
                }));
            }
            if view.kind.is_active() {
                names.push(format!("{name} ({})", view.kind));
            }
        });
        if !names.is_empty() {
            let names = names.join(", ");
            self.findings.push(active(format!(
                "some data is not in the store: a reader must evaluate or fetch what these files describe: {names}"
            )));
        }
    }
}

/// The finding about data that a reader must evaluate or fetch.
fn active(message: String) -> Finding {
    Finding::of_file(FindingCode::ActiveObject, message)
}

fn elsewhere(key: &String) -> Finding {
    active(format!("member {key} refers to a store elsewhere, from which a reader must fetch its data"))
}

/// A note for the user about a column that has items of deleted or unused rows. `None` for any other frame. `length` is
/// the number of items of the frame.
pub(crate) fn deleted_rows(target: &Target, length: u64) -> Option<String> {
    let (of, name) = match &target.inside {
        Inside::Member(name) | Inside::Url(Some(name)) => (target.container()?, name.clone()),
        Inside::Whole => {
            let store = target.path.ancestors().skip(1).find(|folder| is_store_folder(folder))?;
            (Target::given(Address::new(store.into())), name_in(store, &target.path))
        }
        _ => return None,
    };
    let (table, _) = name.trim_start_matches('/').split_once("_cols/")?;
    let store = store_of_files(&of)?;
    let (_, trailer) =
        store.tables().find(|(key, _)| key.trim_matches('/') == table.trim_end_matches('/'))?;
    let deleted = length.checked_sub(schema(trailer)?.n_rows?).filter(|&deleted| deleted > 0)?;
    Some(format!(
        "of the {length} items, {deleted} belong to deleted or unused rows of the table; _valid_rows is true for its rows"
    ))
}

/// The table at an address, if the address names a table's folder in a store.
pub(crate) fn table_at(target: &Target) -> Option<StoreRecord> {
    let name = match &target.inside {
        Inside::Whole if !target.is_sparse && !target.is_store => {
            return table_at(&Target::given(find_table(&target.path)?));
        }
        // A member with a Blosc2 extension is not a table, so the store need not be opened.
        Inside::Member(name) | Inside::Url(Some(name)) if !is_named_blosc2(Path::new(name)) => name,
        _ => return None,
    };
    let of = target.container()?;
    let store = store_of_files(&of)?;
    // An empty folder name means the whole store, not a table inside it.
    let folder = Some(name.trim_start_matches('/')).filter(|folder| !folder.is_empty())?;
    let (key, trailer) = store.tables().find(|(key, _)| key.trim_start_matches('/') == folder)?;
    Some(StoreRecord::of_table(&of, key, trailer))
}

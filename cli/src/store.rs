//! Stores of python-blosc2 and the tables in them: what they are, and what they hold.

use std::fmt::{self, Display};
use std::path::Path;

use b2nd_frame::{Code, Finding, Kind, Store, Table, is_store_folder};
use serde::{Deserialize, Serialize};

use crate::address::{Address, Inside, Location};
use crate::failure::Failure;
use crate::input::{Target, Targets};
use crate::output::write_finding;
use crate::text;
use crate::visit::{Options, View};

/// A store, or a table in one.
#[derive(Serialize)]
pub(crate) struct StoreRecord {
    /// That of a table in a zip file has its folder as the member.
    #[serde(flatten)]
    pub(crate) address: Address,
    pub(crate) kind: Kind,
    /// The keys in a store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<Vec<String>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<TableRecord>,
    pub(crate) findings: Vec<Finding>,
}

/// What a table says about itself.
#[derive(Default, Serialize)]
pub(crate) struct TableRecord {
    /// `None` if the table was never closed, or its schema cannot be read.
    pub(crate) rows: Option<u64>,
    pub(crate) columns: Vec<Column>,
}

#[derive(Serialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The shape of each of its items; empty for a single value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) item_shape: Vec<i64>,
}

/// The JSON that python-blosc2 writes about a table.
#[derive(Deserialize)]
struct Schema {
    n_rows: Option<u64>,
    columns: Vec<SchemaColumn>,
    #[serde(default)]
    computed_columns: Vec<SchemaColumn>,
}

#[derive(Deserialize)]
struct SchemaColumn {
    name: String,
    kind: String,
    max_length: Option<u64>,
    dtype_str: Option<String>,
    dtype: Option<String>,
    #[serde(default)]
    item_shape: Vec<i64>,
}

impl From<SchemaColumn> for Column {
    fn from(column: SchemaColumn) -> Self {
        let SchemaColumn { name, kind, max_length, dtype_str, dtype, item_shape } = column;
        let kind = match (&*kind, max_length) {
            ("string", Some(length)) => format!("<U{length}"),
            ("bytes", Some(length)) => format!("|S{length}"),
            _ => dtype_str.or(dtype).unwrap_or(kind),
        };
        Self { name, kind, item_shape }
    }
}

impl StoreRecord {
    /// The store, and then the tables in it. A store that is a table is one record.
    pub(crate) fn all(target: &Target, store: &Store) -> Vec<Self> {
        let whole = (store.kind() != Kind::CTable).then(|| Self {
            address: Address::of(target.path.clone()),
            kind: store.kind(),
            members: Some(store.members().to_vec()),
            table: None,
            findings: store.mounts().iter().map(elsewhere).collect(),
        });
        let tables = store.tables().iter().map(|table| Self::of_table(target, table));
        whole.into_iter().chain(tables).collect()
    }

    /// A store in a single file.
    pub(crate) fn of_file(view: View<'_>) -> Self {
        Self {
            address: view.location.into(),
            kind: view.kind,
            members: Some(view.embedded()),
            table: None,
            findings: Vec::new(),
        }
    }

    fn of_table(target: &Target, table: &Table) -> Self {
        let folder = table.key().trim_start_matches('/');
        let address = match folder {
            "" => Address::of(target.path.clone()),
            _ if target.is_store => Address::of(target.path.join(folder)),
            _ => Location { path: &target.path, inside: Inside::Member(folder) }.into(),
        };
        let schema = table.schema().and_then(|json| serde_json::from_str::<Schema>(json).ok());
        let mut findings = Vec::new();
        let table = schema.map_or_else(TableRecord::default, |schema| {
            let computed = schema.computed_columns.iter().map(|column| column.name.as_str());
            let names = computed.collect::<Vec<_>>().join(", ");
            if !names.is_empty() {
                findings.push(active(format!("the table has columns that a reader must evaluate: {names}")));
            }
            if schema.n_rows.is_none() {
                let message = "the table was not closed: its number of rows is missing";
                findings.push(Finding::of_file(Code::UnclosedTable, message));
            }
            let columns = schema.columns.into_iter().chain(schema.computed_columns);
            TableRecord { rows: schema.n_rows, columns: columns.map(Column::from).collect() }
        });
        Self { address, kind: Kind::CTable, members: None, table: Some(table), findings }
    }

    /// Warns of the frames in a store that have no data of their own.
    pub(crate) fn add_active(&mut self, target: &Target) {
        let mut names = Vec::new();
        visit_files(target, None, Options::default(), &mut |view| {
            if let Ok(view) = view
                && view.kind.is_active()
            {
                let name =
                    view.location.member().map_or_else(|| name_in(target, view.location.path), Into::into);
                names.push(format!("{name} ({})", view.kind));
            }
        });
        if !names.is_empty() {
            let names = names.join(", ");
            self.findings.push(active(format!(
                "to get all data, a reader must evaluate or fetch what these files say: {names}"
            )));
        }
    }
}

/// What a reader must evaluate or fetch.
fn active(message: String) -> Finding {
    Finding::of_file(Code::ActiveObject, message)
}

fn elsewhere(key: &String) -> Finding {
    active(format!("member {key} is a store elsewhere, from which a reader must fetch"))
}

impl Display for StoreRecord {
    /// Like the page of a frame.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = self.address.location();
        writeln!(f, "path    : {}", text::path(location.path))?;
        if let Some(member) = location.member() {
            writeln!(f, "member  : {}", text::clean(member))?;
        }
        writeln!(f, "type    : {}", self.kind)?;
        if let Some(TableRecord { rows, columns }) = &self.table {
            match rows {
                Some(rows) => writeln!(f, "rows    : {rows}")?,
                None => writeln!(f, "rows    : unknown, as the table was not closed")?,
            }
            for Column { name, kind, item_shape } in columns {
                write!(f, "column  : {}, {}", text::clean(name), text::clean(kind))?;
                if !item_shape.is_empty() {
                    write!(f, ", items of shape {}", text::Tuple(item_shape))?;
                }
                writeln!(f)?;
            }
        }
        if let Some(members) = &self.members {
            writeln!(f, "holds   : {}", held(members))?;
        }
        self.findings.iter().try_for_each(|finding| write_finding(f, finding.code(), finding.message()))
    }
}

/// The keys of a store's members, in a line.
pub(crate) fn held(members: &[String]) -> String {
    if members.is_empty() { "nothing".into() } else { text::clean(&members.join(", ")) }
}

/// The store that a folder or zip file is. What is wrong with a zip file, its visit tells.
pub(crate) fn store_at(target: &Target) -> Result<Option<Store>, Failure> {
    if target.inside != Inside::Whole || target.is_sparse {
        return Ok(None);
    }
    let is_folder = target.is_store || target.is_given && target.path.is_dir();
    if !is_folder && !target.is_named_zip() {
        return Ok(None);
    }
    match Store::open(&target.path) {
        Err(error) if is_folder => Err(target.location().failure(error)),
        store => Ok(store.ok().flatten()),
    }
}

/// The store that a folder or zip file is. If it cannot be opened, the visit of its files tells why.
pub(crate) fn store_of_files(target: &Target) -> Option<Store> {
    store_at(target).ok().flatten()
}

/// The table that is meant, if it is a folder in a store.
pub(crate) fn table_at(target: &Target) -> Option<StoreRecord> {
    let path = match target.inside {
        Inside::Member(_) => &target.path,
        Inside::Whole if !target.is_sparse && !target.is_store && target.path.is_dir() => {
            target.path.ancestors().skip(1).find(|folder| is_store_folder(folder))?
        }
        _ => return None,
    };
    let (address, store) = (Address::from(target.location()), Store::open(path).ok()??);
    let of = Target::given(Address::of(path.into()));
    let mut tables = store.tables().iter().map(|table| StoreRecord::of_table(&of, table));
    tables.find(|table| table.address == address)
}

/// The files in the folder of a store, but not those that are only a part of it.
pub(crate) fn files_in(
    target: &Target,
    store: Option<&Store>,
) -> impl Iterator<Item = Result<Target, Failure>> {
    Targets::in_store(&target.path).filter(move |found| {
        let name = found.as_ref().map(|found| name_in(target, &found.path));
        !name.is_ok_and(|name| store.is_some_and(|store| store.is_part(&name)))
    })
}

/// Visits the frames in a folder or zip file, but not those that are only a part of this store.
pub(crate) fn visit_files(
    target: &Target,
    store: Option<&Store>,
    options: Options<'_>,
    receive: &mut dyn FnMut(Result<View<'_>, Failure>),
) {
    let is_part = |name: &str| store.is_some_and(|store| store.is_part(name));
    if target.is_store {
        files_in(target, store).for_each(|found| options.visit(found, receive));
    } else {
        options.visit_target(target, &mut |view| {
            if !view.as_ref().is_ok_and(|view| view.location.member().is_some_and(is_part)) {
                receive(view);
            }
        });
    }
}

/// The name of a file in the folder of a store, with `/` between the folders in it.
fn name_in(store: &Target, file: &Path) -> String {
    let name = file.strip_prefix(&store.path).unwrap_or(file);
    let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

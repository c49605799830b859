//! The stores of python-blosc2, and the frames in them.

use b2nd_frame::Store;

use super::address::Inside;
use super::failure::Failure;
use super::target::{Found, Target};
use super::targets::Targets;
use super::view::View;
use super::visit::Visit;
use crate::names::{file_of, name_in};
use crate::remote;

/// Opens a folder or zip file as a store; `None` if it is not a store. Damage to a zip file is not reported here, but
/// when its members are visited.
pub(crate) fn store_at(target: &Target) -> Result<Option<Store>, Failure> {
    if target.is_zip_object() {
        let store = remote::open(&target.path).map(|zip| Store::read_zip(zip, file_of(&target.path)));
        return Ok(store.ok().and_then(Result::ok).flatten());
    }
    if target.inside != Inside::Whole || target.is_sparse {
        return Ok(None);
    }
    let is_folder = target.is_store || target.is_given() && target.path.is_dir();
    if !is_folder && !target.is_named_zip() {
        return Ok(None);
    }
    match Store::open(&target.path) {
        Err(error) if is_folder => Err(target.location().failure(error)),
        store => Ok(store.ok().flatten()),
    }
}

/// Opens a folder or zip file as a store, as [`store_at`] does, but ignores errors: visiting the files reports them.
pub(crate) fn store_of_files(target: &Target) -> Option<Store> {
    store_at(target).ok().flatten()
}

/// The files in a store's folder, without the internal files of the store and of its tables ([`Store::is_part`]). The
/// internal file `embed.b2e` is included all the same, because its data can contain members.
pub(crate) fn files_in(target: &Target, store: Option<&Store>) -> impl Iterator<Item = Found> {
    Targets::in_store(&target.path).filter(move |found| {
        let name = found.as_ref().map(|found| name_in(&target.path, &found.path));
        !name.is_ok_and(|name| name != Store::FILE && store.is_some_and(|store| store.is_part(&name)))
    })
}

/// Whether a frame is an internal file of the store or of a table in it, and not a member ([`Store::is_part`]).
pub(crate) fn is_part(target: &Target, store: Option<&Store>, found: &Result<View<'_>, Failure>) -> bool {
    let (Some(store), Ok(View { location, .. })) = (store, found) else { return false };
    match location.member() {
        Some(name) => store.is_part(name),
        None => store.is_part(&name_in(&target.path, location.path)),
    }
}

/// Visits the frames in the folder of a store or in a zip file.
pub(crate) fn visit_files(
    target: &Target,
    visit: Visit<'_>,
    receive: &mut dyn FnMut(Result<View<'_>, Failure>),
) {
    if target.is_store {
        Targets::in_store(&target.path).for_each(|found| visit.found(found, receive));
    } else {
        visit.target(target, receive);
    }
}

/// Visits the files of a table in a store.
pub(crate) fn visit_table(
    table: &Target,
    visit: Visit<'_>,
    receive: &mut dyn FnMut(Result<View<'_>, Failure>),
) {
    let (Some(store), Some(key)) = (table.container(), table.location().member()) else { return };
    let folder = key.trim_matches('/');
    if store.is_store {
        Targets::in_store(&store.path.join(folder)).for_each(|found| visit.found(found, receive));
    } else {
        Visit { below: &format!("{folder}/"), ..visit }.target(&store, receive);
    }
}

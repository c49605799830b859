//! `Geometry` accepts the same shapes as C-Blosc2 3.3.5, with two exceptions. A resize keeps the same chunks as a
//! resize in C-Blosc2. The exceptions are shapes that only `Geometry` accepts; the first two functions of this file
//! recognize them.

use std::fs;
use std::path::Path;

use b2nd_serde::{Geometry, Shapes};
use serde_derive::Deserialize;

/// Returns true for shapes with a dimension of 0 that C-Blosc2 rejects because of an overflow. C-Blosc2 multiplies the
/// dimensions in order, and the product of the dimensions before the 0 overflows. This crate accepts these shapes: in
/// the draft specification, a product with a factor 0 is 0 in any order. C-Blosc2 accepts the same dimensions in
/// another order, in which the 0 comes first.
fn overflows_before_a_zero(shape: &[i64], chunkshape: &[i32], blockshape: &[i32]) -> bool {
    let wide = |vector: &[i32]| vector.iter().copied().map(i128::from).collect::<Vec<_>>();
    let (chunkshape, blockshape) = (wide(chunkshape), wide(blockshape));
    let shape: Vec<_> = shape.iter().copied().map(i128::from).collect();
    let extended = shape.iter().zip(&chunkshape).map(|(s, c)| (s + c - 1) / c.max(&1) * c);
    [
        (extended.collect(), i128::from(i64::MAX)),
        (shape, i128::from(i64::MAX)),
        (chunkshape, i128::from(i32::MAX)),
        (blockshape, i128::from(i32::MAX)),
    ]
    .iter()
    .any(|(factors, max): &(Vec<i128>, i128)| {
        let mut product = 1;
        let overflow = factors.iter().position(|factor| {
            product *= factor;
            product > *max
        });
        overflow.is_some_and(|dimension| factors[dimension..].contains(&0))
    })
}

/// Returns true for shapes that C-Blosc2 rejects and this crate accepts, because a dimension is near the maximum.
/// To round a dimension up to whole chunks, C-Blosc2 computes `dimension + chunk`. This sum can overflow although the
/// rounded dimension does not.
fn rounds_up_to_the_very_end(shape: &[i64], chunkshape: &[i32]) -> bool {
    shape.iter().zip(chunkshape).any(|(&shape, &chunk)| {
        let chunk = i64::from(chunk);
        chunk > 0 && shape % chunk != 0 && shape.checked_add(chunk).is_none()
    })
}

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/geometry").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn geometry_new_accepts_what_c_blosc2_opens() -> Result<(), Box<dyn std::error::Error>> {
    type Case = (Vec<i64>, Vec<i32>, Vec<i32>, bool);
    let cases: Vec<Case> = serde_json::from_str(&data("opens.json"))?;
    let mut differences = 0;
    for (shape, chunkshape, blockshape, opens) in cases {
        let geometry =
            Geometry::new(Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape });
        if geometry.is_ok() != opens {
            differences += 1;
            assert!(
                geometry.is_ok()
                    && (overflows_before_a_zero(&shape, &chunkshape, &blockshape)
                        || rounds_up_to_the_very_end(&shape, &chunkshape)),
                "{shape:?} {chunkshape:?} {blockshape:?}: {geometry:?}, C-Blosc2 opens it: {opens}"
            );
        }
    }
    assert!(differences >= 5, "only {differences}: the answers have lost their border cases");
    Ok(())
}

#[test]
fn resize_does_to_the_chunks_what_c_blosc2_does() -> Result<(), Box<dyn std::error::Error>> {
    type Case = (Vec<i64>, Vec<i32>, Vec<i32>, Vec<i64>, Vec<Option<u64>>);
    let cases: Vec<Case> = serde_json::from_str(&data("resizes.json"))?;
    assert!((1..=4).all(|ndim| cases.iter().any(|case| case.0.len() == ndim)));
    assert!(cases.iter().any(|(_, chunkshape, blockshape, ..)| chunkshape != blockshape));
    let (mut changed, mut unchanged) = (0, 0);
    for (shape, chunkshape, blockshape, new_shape, chunks) in cases {
        let case =
            format!("{shape:?} in chunks of {chunkshape:?}, blocks of {blockshape:?}, to {new_shape:?}");
        let geometry =
            Geometry::new(Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape })?;
        let resize = geometry.resize(&new_shape)?;
        assert_eq!(resize.after().nchunks(), chunks.len() as u64, "{case}");

        // For each chunk that is in both grids: its number in the old grid, and its number in the new grid.
        let kept: Vec<_> =
            (0..).zip(&chunks).filter_map(|(after, before)| Some(((*before)?, after))).collect();
        assert!(resize.kept_chunks().eq(kept.iter().copied()), "{case}");
        let is_all = [geometry.nchunks(), chunks.len() as u64] == [kept.len() as u64; 2];
        assert_eq!(resize.changes_chunks(), !is_all, "{case}");
        if resize.changes_chunks() {
            changed += 1;
        } else {
            unchanged += 1;
            assert!(kept.iter().all(|(before, after)| before == after), "{case}");
        }
    }
    assert!(changed > 0 && unchanged > 0, "{changed} changed, {unchanged} unchanged");
    Ok(())
}

#[derive(Deserialize)]
struct Verdict {
    name: String,
    #[cfg(feature = "alloc")]
    hex: String,
    deserialize: Fields,
    b2nd_open: Option<i32>,
}

/// The return code of C-Blosc2, and the shapes that it read. The shapes are valid if the return code is not negative.
#[derive(Deserialize)]
struct Fields {
    rc: i32,
    #[serde(default)]
    shape: Vec<i64>,
    #[serde(default)]
    chunk: Vec<i32>,
    #[serde(default)]
    block: Vec<i32>,
}

/// `BLOSC2_ERROR_INVALID_PARAM`
const INVALID_PARAM: i32 = -12;

/// The verdicts of C-Blosc2 on the shapes of the corpus. The `bool` is true if C-Blosc2 opens the array.
fn verdicts() -> Option<Vec<(Verdict, bool)>> {
    let (folder, _) = b2nd_lab::corpus()?;
    let text = fs::read_to_string(folder.join("c_blosc2_verdicts.json"));
    let text =
        text.inspect_err(|error| eprintln!("not compared, as the corpus has no verdicts: {error}")).ok()?;
    let verdicts: Vec<Verdict> = serde_json::from_str(&text).expect("the verdicts are JSON");
    let about_shapes: Vec<_> = verdicts
        .into_iter()
        .filter(|verdict| verdict.deserialize.rc >= 0)
        .filter_map(|verdict| match verdict.b2nd_open? {
            0 => Some((verdict, true)),
            INVALID_PARAM => Some((verdict, false)),
            other => panic!("{}: an answer that is not about shapes: {other}", verdict.name),
        })
        .collect();
    assert!(about_shapes.iter().any(|(_, opens)| *opens) && about_shapes.iter().any(|(_, opens)| !opens));
    Some(about_shapes)
}

#[test]
fn geometry_new_accepts_what_c_blosc2_opens_in_the_corpus() {
    for (verdict, opens) in verdicts().unwrap_or_default() {
        let fields = &verdict.deserialize;
        let geometry = Geometry::new(Shapes {
            shape: &fields.shape,
            chunkshape: &fields.chunk,
            blockshape: &fields.block,
        });
        assert_eq!(geometry.is_ok(), opens, "{}: {geometry:?}", verdict.name);
    }
}

/// Like the test above, but reads the shapes from the bytes of the metalayer. Metalayers that this crate cannot read
/// are skipped, because C-Blosc2 accepts some metalayers that this crate rejects.
#[cfg(feature = "alloc")]
#[test]
fn meta_geometry_accepts_what_c_blosc2_opens_in_the_corpus() {
    use b2nd_serde::{Meta, from_slice};

    let Some(verdicts) = verdicts() else { return };
    let (mut read, mut other_versions) = (0, Vec::new());
    for (verdict, opens) in verdicts {
        let Ok(meta) = from_slice::<Meta>(&b2nd_lab::unhex(&verdict.hex)) else {
            continue;
        };
        read += 1;
        if meta.geometry().is_ok() != opens {
            assert_ne!(meta.version(), 0, "{}: {:?}", verdict.name, meta.geometry());
            other_versions.push(verdict.name);
        }
    }
    // C-Blosc2 ignores the version of a metalayer. If the version is not 0, this crate gives no geometry, because the
    // rules of other versions are not known.
    assert_eq!(other_versions, ["version_1", "version_127"]);
    assert!(read >= 20, "only {read} are read");
}

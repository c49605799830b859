//! The rules for the trailer and its vlmetalayers.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::chunk::chunk_rules::check_in_trailer;
use crate::chunk::expansion::{self, NotDecompressed};
use crate::code::FindingCode;
use crate::finding::{Escaped, Finding, Place};
use crate::header::fields::HeaderField;
use crate::header::frame_header::Header;
use crate::header::section::map_value;
use crate::messagepack::value_rules::check_value;
use crate::trailer::embed_list::{EMBED_LIST_NAME, EmbedPlace};
use crate::trailer::frame_trailer::{MAX_KEYS_LEN, Trailer, Vlmetalayer};
use crate::trailer::salvage_note::{self, SALVAGE_NAME, SalvageNote};

/// The faults and oddities of a trailer.
pub(crate) fn check(header: &Header, trailer: &Trailer) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (expected, found) = (header.header_len as u64, trailer.offset());
    // A frame without chunks has no chunk index either, so its trailer must follow the header. In a frame with chunks,
    // the rules of the index detect a trailer at a wrong place.
    if header.nbytes == 0 && expected != found {
        let text = format!(
            "the frame has no chunks, so the trailer must begin at byte {expected}, but it begins at {found}"
        );
        let finding = Finding::new(FindingCode::DamagedTrailer, Place::Trailer).at(found);
        findings.push(finding.numbers(expected, found).text(text));
    }
    let count = trailer.vlmetalayers().len();
    if header.has_vlmetalayers == (count == 0) {
        let flag = header.has_vlmetalayers;
        let text = format!("has_vlmeta is {flag}, but the trailer has {count} vlmetalayers");
        let finding = header.finding(FindingCode::IgnoredBytes, HeaderField::HasVlmetalayers);
        findings.push(finding.text(text));
    }
    findings.extend(trailer.vlmetalayer(SALVAGE_NAME).map(salvaged));
    findings.extend(trailer.vlmetalayers().iter().filter_map(chunk));
    findings
}

/// The finding for an invalid chunk of a vlmetalayer. The value is not decompressed.
fn chunk(layer: &Vlmetalayer) -> Option<Finding> {
    let (name, length) = (Escaped(layer.name()), layer.chunk().len());
    let text = match layer.chunk_header() {
        _ if !layer.has_name_in_utf8() => {
            // This is only a warning: C-Blosc2 accepts any bytes as a name, so another program may have written this
            // name on purpose.
            let text = format!("the name of vlmetalayer {name} is not UTF-8");
            return Some(about(FindingCode::VlmetalayerValue, layer, text));
        }
        None => format!("the {length} bytes of vlmetalayer {name} are not a Blosc2 chunk"),
        Some(header) => {
            let why = check_in_trailer(&header, layer.chunk()).err()?;
            format!("the chunk of vlmetalayer {name} {why}")
        }
    };
    Some(about(FindingCode::VlmetalayerChunk, layer, text))
}

/// The finding for the value of a vlmetalayer with a valid chunk. An error gives the reason why the value cannot be
/// checked.
pub(crate) fn value(layer: &Vlmetalayer) -> Result<Option<Finding>, String> {
    let Some(header) = layer.chunk_header().filter(|_| chunk(layer).is_none()) else { return Ok(None) };
    let name = Escaped(layer.name());
    match expansion::value(header, layer.chunk()) {
        Err(NotDecompressed::Damaged(why)) => {
            let text = format!("the chunk of vlmetalayer {name} {why}");
            Ok(Some(about(FindingCode::VlmetalayerChunk, layer, text)))
        }
        Err(NotDecompressed::Unsupported(why) | NotDecompressed::TooLarge(why)) => Err(why),
        Ok(value) => Ok(check_value(&value).err().map(|why| {
            let text =
                format!("the value of vlmetalayer {name} is not MessagePack that python-blosc2 reads: {why}");
            about(FindingCode::VlmetalayerValue, layer, text)
        })),
    }
}

/// The finding for a wrong list of embedded frames. The list is wrong if python-blosc2 cannot read it, or if a frame in
/// it is outside the data of the store. An error gives the reason why the list is not read.
pub(crate) fn embed_list(trailer: &Trailer, header: &Header) -> Result<Option<Finding>, String> {
    let Some(layer) = trailer.vlmetalayer(EMBED_LIST_NAME) else { return Ok(None) };
    // If the value of the vlmetalayer is too long to be decompressed, or cannot be decompressed, this function returns
    // `Ok(None)`. The other checks of the vlmetalayer already report such a value, as damaged or as not checked.
    if let Some(nbytes) = layer.nbytes().filter(|&nbytes| nbytes > MAX_KEYS_LEN) {
        return if nbytes > layer.longest_value() {
            Ok(None)
        } else {
            Err(format!("has {nbytes} bytes, but at most {MAX_KEYS_LEN} are read as a list of frames"))
        };
    }
    let Ok(value) = layer.value() else { return Ok(None) };
    let text = match (map_value(&value, "embed_map"), map_value::<u64>(&value, "current_offset")) {
        (None, _) => "has no map of frames, `embed_map`".into(),
        (_, None) => "has no end of the data, `current_offset`".into(),
        // `embed_map` gives the place of each frame as an offset and a length in bytes, but python-blosc2 uses them as
        // indices of items. A byte and an item have the same index only if an item has one byte.
        _ if header.typesize != 1 => {
            format!("counts bytes, but items of the store have {} bytes", header.typesize)
        }
        (Some(places), Some(end)) if i64::try_from(end).is_ok_and(|end| end <= header.nbytes) => {
            match check_places(places, end) {
                Err(text) => text,
                Ok(()) => return Ok(None),
            }
        }
        (_, Some(end)) => {
            format!("says that the data ends at byte {end}, but the store has {} bytes", header.nbytes)
        }
    };
    let text = format!("vlmetalayer {EMBED_LIST_NAME} {text}");
    Ok(Some(about(FindingCode::VlmetalayerValue, layer, text)))
}

/// Checks that each key of a store has a valid place: an address on a server, or a range of bytes in the data. `end` is
/// the end of the data.
fn check_places(places: BTreeMap<String, EmbedPlace>, end: u64) -> Result<(), String> {
    places.into_iter().try_for_each(|(key, place)| {
        let key = Escaped(&key);
        match place {
            EmbedPlace::Data(range) if range.end > end => {
                let Range { start, end: after } = range;
                Err(format!("has {key} at bytes {start} to {after}, but the data ends at byte {end}"))
            }
            EmbedPlace::Unknown => Err(format!("has neither an offset and a length nor a URL for {key}")),
            EmbedPlace::Data(_) | EmbedPlace::Server => Ok(()),
        }
    })
}

fn about(code: FindingCode, layer: &Vlmetalayer, text: String) -> Finding {
    Finding::new(code, Place::Trailer).at(layer.offset()).text(text)
}

/// The finding for a salvaged frame, from its vlmetalayer `b2nd_salvage`.
fn salvaged(layer: &Vlmetalayer) -> Finding {
    let finding = Finding::new(FindingCode::Salvaged, Place::Trailer).at(layer.offset());
    let Some(note) = SalvageNote::of_chunk(layer.chunk()) else {
        return finding
            .text(format!("the frame was salvaged, but vlmetalayer {SALVAGE_NAME} cannot be read"));
    };
    let lost = match note.lost.as_slice() {
        [] => "no chunk was lost".into(),
        [(first, _), ..] => {
            let fill = Escaped(&note.fill);
            match salvage_note::count(&note.lost) {
                1 => format!("chunk {first} was lost, and is {fill} now"),
                count => format!("{count} chunks were lost, from chunk {first} on, and are {fill} now"),
            }
        }
    };
    let unverified = match note.unverified.as_slice() {
        [] => String::new(),
        [(first, 1)] => format!("; chunk {first} could not be verified, so its items may be wrong"),
        ranges @ [(first, _), ..] => {
            let count = salvage_note::count(ranges);
            format!(
                "; {count} chunks could not be verified, from chunk {first} on, so their items may be wrong"
            )
        }
    };
    let order = if note.has_assumed_order { "; the order of the chunks was assumed" } else { "" };
    finding.text(format!("the frame was salvaged: {lost}{unverified}{order}"))
}

//! Saves the undamaged parts of a damaged frame into a new frame.
//!
//! `Survey` finds the parts of the frame, `HeaderScan` reads the headers of all chunks, and `saved_frame.rs` copies the
//! chunks one by one. Each step learns more about the chunks:
//!
//! | what is known | type | field or method |
//! |---|---|---|
//! | the place of the chunk index | `Survey` | `parts.index` |
//! | without an index: the chunks in the order of the file, and the damaged ranges between them | `Order` | `found`, `gaps` |
//! | without an index: the number and the place of each chunk that was found | `Survey` | `order`, from `Order::numbered` |
//! | without an index: whether these numbers may be wrong | `Survey` | `parts.place_doubt`, from `Order::is_complete` |
//! | the entry of each chunk, from the index or from `Survey::order` | `ChunkRun` | `entry`, from `chunk_runs::each` |
//! | the byte range of each chunk, according to its own header | `ReadHeaders` | `spans` |
//! | the byte range of each chunk whose end is certain | `StatedPlaces` | `owned`, from `ReadHeaders::owned` |
//! | the offsets in all entries, right or wrong | `StatedPlaces` | `offsets` |
//! | the byte ranges that no chunk owns | `StatedPlaces` | `unowned`, from `unowned_ranges` |
//! | the chunks without an entry, in the unowned ranges | `StatedPlaces` | `orphans` |
//! | the place of each chunk with a wrong entry | `InferredPlaces` | `offsets`, from `StatedPlaces::infer` |
//! | the offsets of all chunks, with the inferred places instead of the wrong ones | `InferredPlaces` | `all` |
//!
//! `ReadHeaders` and `StatedPlaces` exist only within `HeaderScan::new`. While the chunks are copied, `HeaderScan` answers
//! the questions about one chunk:
//!
//! | question | field or method of `HeaderScan` |
//! |---|---|
//! | Which place was inferred, and why may a place be wrong? | `inferred_place`, `doubts_of_place` |
//! | Would the chunk be saved if the order of the file was assumed? | `needs_order` |
//! | Does the chunk share bytes with another one? | `is_sharing`, or `wrong_lengths` if its own length is the reason |
//! | How many bytes are there up to the next chunk? | `room` |
//! | If the entry of a chunk has a special value: can its data be in the file? | `unowned` |
//! | Which sizes and filters should its header have? | `rules` |

// Each module imports only from the modules above it in this list.
pub(crate) mod salvage_report;

mod damaged_file;

mod recorded_holes;

mod chunk_header;

mod order;

mod header_repair;

mod header_length;

mod survey;

mod chunk_runs;

mod inferred_places;

mod header_scan;

mod saved_frame;

pub(crate) mod options;

//! The codes of findings. A row has the variant, the name, the severity, the lowest depth of a check that finds the
//! code, and the remedy; then the meaning, the cause and the advice.

use crate::code::{CheckDepth, Remedy, Severity};

/// The cause of findings that only damage can explain. No writer leaves such bytes, even if it is killed.
const DAMAGE: &str =
    "Bytes were damaged: by a disk, by a transfer, or by a program that wrote into the file.";

codes! {
    // The file and the header.
    NotAFrame "not-a-frame" Error Frame -
        "The file does not begin with the magic bytes of a frame."
        "It is another kind of file, or its first bytes were never written or are lost."
        "Check whether the file has another format. `b2nd ls` lists the frames in a zip file, and `b2nd ls --scan` those \
         in any other file. `b2nd convert` makes an array of a NumPy file. If the first bytes of an array are lost, salvage it with its shape, chunk shape, \
         block shape and dtype."
    Truncated "truncated" Error Frame Salvage
        "The file is shorter than the length in the header of the frame."
        "A copy or download was stopped, the disk was full, a writer was killed, or the length is damaged."
        "Copy or download the file again. If that is not possible, salvage it. If its index is lost too, the order of \
         the chunks must be assumed."
    LongerFile "longer-file" Warning Frame Rewrite
        "The file is longer than the frame. Readers ignore the bytes after the frame."
        "A writer was killed before its commit, something was appended, or the frame was written over a longer file."
        "Nothing, if the bytes were appended on purpose. A rewrite drops them."
    TooLong "too-long" Error Frame Salvage
        "The header is longer than 64 MiB (in a zip file 1 MiB), or the trailer is longer than 256 MiB. Real headers \
         and trailers have a few KiB. This crate does not read longer ones, because a damaged file could claim any \
         amount of memory."
        DAMAGE
        "If C-Blosc2 reads the file, it is intact. Otherwise salvage it: a damaged length is computed from the rest of \
         the frame, where this is possible."
    DamagedZip "damaged-zip" Error Frame -
        "The file is not a zip file, or the directory at its end is damaged or cut off. Or a member has a damaged \
         local header, or shares bytes with another member."
        "A copy or download was stopped, or bytes were damaged."
        "Copy or download the file again. A scan finds the frames in it."
    ZipChecksum "zip-checksum" Error ChunkData -
        "A member of the zip file contradicts the directory of the zip file: its bytes have another CRC-32, its local \
         header has another name, or it needs an unknown version of the zip format. The same code is given if the \
         record at the end of the zip file has a wrong offset or size of the directory. Python does not open the \
         member, or reads changed data."
        DAMAGE
        "Copy or download the file again."
    DamagedHeader "damaged-header" Error Frame Salvage
        "A value of the header is invalid, such as a marker, a length, an offset, or a number of filters or \
         metalayers; or the generation of the frame is unknown."
        DAMAGE
        "Salvage the file: damaged values are computed from the rest of the frame, where this is possible."
    UnknownVersion "unknown-version" Error Frame Salvage
        "The version of the frame format is above 3, or the version of the array's metalayer is not 0. Such versions \
         are unknown."
        "A newer program wrote the file, or the byte is damaged."
        "Read the file with a newer C-Blosc2 or a newer version of this crate. If no program reads it, the byte is \
         probably damaged: salvage the file. The other findings may be wrong."
    FrameType "frame-type" Error Frame Salvage
        "The frame type is unknown, or does not fit the file: only a sparse frame is a directory, with its header in \
         chunks.b2frame."
        "The file was moved out of the directory of a sparse frame, or into one; or the byte of the frame type is damaged."
        "If the file was moved, put it back where it came from. Otherwise salvage it: the new frame has the frame type \
         that fits the file."
    OldFrame "old-frame" Warning Frame Rewrite
        "The header is older than C-Blosc2 2.0.0-rc1, and C-Blosc2 no longer opens such a frame."
        "A program with a beta release of C-Blosc2 2.0 wrote the file."
        "Rewrite the file."
    UnknownFilter "unknown-filter" Warning Frame Salvage
        "A filter has an unknown number below 160. Readers that do not know a filter do not open the file."
        "A newer program wrote the file, or the byte is damaged."
        "Read the file with a newer C-Blosc2, or salvage it if the byte is damaged: new chunks then get the default \
         filters of python-blosc2."
    FilterParameter "filter-parameter" Warning Frame Salvage
        "The parameter of a filter is above 127. C-Blosc2 reads the file, but python-blosc2 4.14.1 does not open it. For \
         bytedelta, the parameter 0 stands for the item size."
        "A program gave trunc_prec or int_trunc a negative number of bits, or used bytedelta for items of 128 bytes or \
         more, or bytes were damaged."
        "Read the file with C-Blosc2, or salvage it: the stored chunks stay as they are, and new chunks get the default \
         filters of python-blosc2."
    LostTypesize "lost-typesize" Error Frame Rewrite
        "typesize is 1, but items of the dtype have more than 255 bytes, and the sizes of chunks and blocks agree with \
         the dtype. python-blosc2 cannot read such a file."
        "python-blosc2 wrote an array with items of more than 255 bytes that was not contiguous in memory."
        "Rewrite the file. This writes the item size into the header; then all items can be read."
    Sizes "sizes" Error Frame Salvage
        "A size in the header contradicts another size, or is 0 or negative although the frame has chunks."
        DAMAGE
        "Salvage the file: damaged values are computed from the rest of the frame, where this is possible. If the block \
         shape is wrong, give the right one."

    // The metalayers.
    IgnoredBytes "ignored-bytes" Warning Frame -
        "Bytes that readers ignore are wrong or left over: the size of the index of metalayers, the list of their \
         contents, the flag for vlmetalayers, the chunksize of an array without items, or bytes between the chunk index \
         and the trailer."
        "A program changed one part of the file and not the other, a program other than C-Blosc2 wrote it, or bytes \
         were damaged."
        "Nothing. If another program than C-Blosc2 wrote the file, its authors may want to know."
    DuplicateMetalayer "duplicate-metalayer" Warning Frame -
        "Two metalayers have the same name. Readers use the first one."
        "A program other than C-Blosc2 wrote the file, or bytes were damaged."
        "Check which one is right."
    MisnamedArray "misnamed-array" Warning Frame Salvage
        "The frame has no metalayer b2nd or caterva, but another metalayer describes an array of exactly this size. \
         Readers see plain chunks, without shape and dtype."
        "A byte of the name is damaged, or a program gave the metalayer another name."
        "If the name is damaged, salvage the file, which restores the name."
    ActiveObject "active-object" Warning Frame -
        "The frame describes its data instead of holding it: a reader must evaluate code in the file, open other \
         files, or fetch remote data. python-blosc2 4.14.1 and later refuse to open most such frames unless they are \
         told to trust them."
        "A lazy expression, a proxy or a reference to a remote array was saved on purpose."
        "Open it only if you trust its source. In python-blosc2, pass deserialize=\"full\". Shape and dtype can \
         still be read."
    UnclosedTable "unclosed-table" Warning Frame -
        "A table of python-blosc2 does not record its number of rows, which is written when the table is closed. Its \
         columns may have room for more rows than were written; _valid_rows.b2nd records the rows that were written."
        "The program that wrote the table was killed, did not close it, or is still writing."
        "Open the table in python-blosc2 and check its last rows; rows that had not been written are lost. Then copy \
         the rows into a new table, and close the new table."

    // The array's metalayer: its bytes.
    DamagedArray "damaged-array" Error Frame Salvage
        "The array's metalayer cannot be read: it has a wrong marker or more than 16 dimensions, ends too early, or its \
         dtype is not text."
        DAMAGE
        "Salvage the file. If values are damaged and not only markers, give the right shape, chunk shape, block shape and \
         dtype, as far as you know them."
    StaleTail "stale-tail" Warning Frame Rewrite
        "Old bytes follow the array's metalayer. It was longer before dimensions were removed, and its old end is \
         still there."
        "python-blosc2 2.1 to 3.10 or python-caterva 0.5 to 0.7 removed dimensions of length 1 (squeeze)."
        "Nothing, because readers ignore them. A rewrite drops them."
    OldLayout "old-layout" Warning Frame Rewrite
        "The array's metalayer has a layout that C-Blosc2 no longer writes. C-Blosc2 3 and later open a Caterva file \
         as plain chunks, without a shape; no release of C-Blosc2 reads b2nd-six."
        "Caterva wrote the file, or a development version of C-Blosc2 from January or February 2023."
        "Rewrite the file. For a Caterva file you must know the dtype."

    // The array's metalayer: its meaning.
    InvalidShape "invalid-shape" Error Frame Salvage
        "The shapes of the array are impossible: a dimension is negative, a chunk or block is 0 in a dimension with \
         items, there are more items than an int64 can count, or a decompressed chunk would be larger than Blosc2 \
         allows, about 2 GiB."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    UnsetBlockshape "unset-blockshape" Warning Frame Rewrite
        "The block shape was never set: Caterva 0.2 and 0.3 did not divide chunks into blocks."
        "Caterva 0.2 or 0.3 wrote the file."
        "Use the chunk shape as the block shape. A rewrite of the file does the same."
    LargeBlock "large-block" Warning Frame -
        "A block is larger than a chunk in some dimension, so most of each chunk can be padding. C-Blosc2 reads such an \
         array, but python-blosc2 refuses to create one."
        "A program other than python-blosc2 wrote the file, or bytes were damaged."
        "Nothing, if the items are plausible. A copy with smaller blocks takes less memory to read."
    HighRank "high-rank" Warning Frame -
        "The array has more than 8 dimensions. Readers before C-Blosc2 2.21.3 crash on it."
        "The array was created with more than 8 dimensions."
        "Use C-Blosc2 2.21.3 or later in all readers."

    // Contradictions between the array's metalayer and the header, and faults of the dtype.
    ChunksizeMismatch "chunksize-mismatch" Error Frame Salvage
        "chunksize is not the size of a chunk padded to whole blocks: metalayer and data disagree about the chunks."
        "python-caterva removed dimensions (squeeze) without changing the chunks, or bytes were damaged."
        "Do not trust the shape. If python-caterva removed dimensions, restore them. Otherwise salvage the file; if its \
         chunk shape or block shape is damaged, give the right one."
    InterruptedResize "interrupted-resize" Error Frame Edit
        "nbytes, the size of all chunks, does not fit the shape: a resize is under way or was interrupted, or nbytes \
         or a dimension is damaged. C-Blosc2 still opens the file, but the items may be right, wrong or zero."
        "A program that resized the array was killed during the resize, or is still at work: it writes the sizes and \
         the shape one after the other."
        "Check again, in case a writer is at work. Otherwise set the former shape, or any shape with the existing \
         number of chunks, and check that the items are plausible. If the chunk shape is damaged and not the shape, \
         salvage the file with the right chunk shape."
    DtypeMismatch "dtype-mismatch" Warning Frame Rewrite
        "The item size of the dtype is not the typesize of the frame. Only the typesize determines how the data is \
         laid out."
        "The writer stated a dtype that does not fit the data."
        "Treat the items as opaque bytes, or rewrite the file with a dtype whose item size is the typesize."
    UnknownDtype "unknown-dtype" Warning Frame Rewrite
        "Neither NumPy nor ml_dtypes has the dtype, or its format is not 0 (NumPy), the only known format. So the \
         type of the items is unknown."
        "A library with dtypes of its own or a newer program wrote the file, or bytes are damaged."
        "Treat the items as opaque bytes, or rewrite the file with a known dtype. The data does not depend on it."
    ObjectDtype "object-dtype" Error Frame -
        "The items, or some of their fields, are Python objects (|O). The file stores only their memory addresses in \
         the program that wrote it. Another program that reads an item in Python can crash, because Python uses the \
         stored number as an address."
        "python-blosc2 stored an array of Python objects, or the dtype is damaged."
        "Do not read the items. The objects cannot be recovered from this file. Store them again, as an ObjectArray or \
         with a dtype of fixed size."

    // The chunk index and the trailer.
    DamagedIndex "damaged-index" Error Frame Salvage
        "The chunk index is not between the chunks and the trailer. Or the Blosc2 chunk that stores it has a damaged \
         header, cannot be decompressed, or does not hold offsets. C-Blosc2 does not open such a file."
        "A writer was killed or is still at work, or bytes were damaged."
        "Restore the file from another copy. If there is none, salvage it: the chunks that the index still leads to are \
         saved. If it leads to none, the order of the chunks must be assumed."
    ChunkIndexCount "chunk-index-count" Error Frame Salvage
        "The number of chunks in the chunk index is not nbytes / chunksize."
        "A writer was killed or is still at work, or bytes were damaged."
        "Check again, in case a writer is at work. Otherwise salvage the file. If its shape is not the right one, give \
         the shape that the array had before."
    ChunkOffset "chunk-offset" Error Frame Salvage
        "An offset in the chunk index is outside the chunks, so C-Blosc2 does not open the file; or two chunks have \
         the same offset, so C-Blosc2 reads the same data for both. In a sparse frame, the number of a chunk file \
         must be at most cbytes - 32, because C-Blosc2 checks it like an offset. An entry with an unknown special \
         value also gets this code, as does an entry with a special value and extra bits: C-Blosc2 reads zeros or \
         NaN, even if the chunk is stored."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: the chunks that the index still leads to \
         are saved. If only one entry is wrong, and only one chunk of the file has no entry, this chunk is saved too. For \
         other chunks, the order of the chunks must be assumed."
    LostChunkLength "lost-chunk-length" Error Frame -
        "Chunks have different sizes, and at least one is special: it is only an entry in the chunk index. Its size is \
         not stored anywhere, so C-Blosc2 cannot read it."
        "python-blosc2 appended a chunk of zeros to chunks of different sizes."
        "The other chunks can be read. If there is only one such chunk, its size is nbytes minus the sizes of the \
         other chunks."
    NoData "no-data" Warning Frame -
        "No chunk is stored: all items are zero, NaN or not initialized. A writer that was killed before its first \
         chunk leaves such a file, which opens without an error. Arrays from blosc2.zeros and similar functions look \
         the same."
        "A writer was killed, or the array has no data on purpose."
        "Nothing, if the array has no data on purpose. Otherwise write it again."
    NeverWritten "never-written" Warning Frame -
        "The first chunks are stored, and all that follow are zero, NaN or not initialized. A writer that was killed \
         leaves such a file, which opens without an error. The file looks exactly like valid data that ends with \
         zeros: labels whose last chunks are background, an enlarged array, or an array from blosc2.zeros whose first \
         items were set."
        "A writer was killed, or the data ends with such chunks."
        "Check that the last items are plausible; compare label arrays with the image they belong to. If the writer \
         was killed, write the array again. If such data is normal for you, ignore this code."
    ChunkHeader "chunk-header" Error ChunkHeaders Salvage
        "The header of a chunk is damaged, or does not fit the frame. C-Blosc2 cannot read the chunk, or reads wrong \
         items."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: the undamaged chunks are saved."
    ChunkFilters "chunk-filters" Warning ChunkHeaders -
        "The header of a chunk has other filters than the frame, or filters that no version of C-Blosc2 knows. If the \
         header is damaged, readers return wrong data without an error. A program that changed the compression \
         parameters of an array leaves such chunks too."
        "A program changed the compression parameters after some chunks had been written, or bytes were damaged."
        "If the parameters were not changed, restore the file from another copy."
    ChunkDictionary "chunk-dictionary" Error ChunkHeaders Salvage
        "A chunk is not compressed, but its header has the dictionary flag. C-Blosc2 takes the first 4 bytes of the \
         data for the length of a dictionary, and refuses the chunk unless they happen to be a valid length. The data \
         itself is whole, and this crate reads it."
        "C-Blosc2 was told to use a dictionary, and the data of the chunk could not be compressed; or a byte was damaged."
        "Salvage the file. This clears the flag, and no data is lost."
    ChunkData "chunk-data" Error ChunkData Salvage
        "The data of a chunk cannot be decompressed: its bytes are damaged, or neither C-Blosc2 nor a plugin has the \
         codec or filter in its header. C-Blosc2 cannot read the chunk, or not all of its blocks. Or a page of zeros is \
         between two blocks, or covers the end of the chunk: C-Blosc2 then reads zeros in the place of some items."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: the undamaged chunks are saved."
    LostPage "lost-page" Warning ChunkData -
        "In the compressed data of a chunk, 4096 bytes in a row are zeros, or the last bytes of its file are. The data \
         can be decompressed, but no compressor leaves so many zeros, so a page was probably lost, and items of the \
         chunk are wrong."
        "A disk, a file system or a transfer lost a page of the file: zeros are in its place."
        "Restore the file from another copy. Otherwise do not trust the items of the chunk. A salvage keeps the chunk, \
         and lists it as unverified."
    ChunkOverlap "chunk-overlap" Error ChunkHeaders Salvage
        "Two chunks share bytes, so one of them was overwritten or has a damaged header."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: the undamaged chunks are saved."
    UnownedBytes "unowned-bytes" Warning ChunkHeaders -
        "Bytes of chunks, or in a sparse frame a chunk file that is not empty, belong to no entry of the chunk index. \
         Replaced or deleted chunks leave such bytes. A damaged entry has the same effect: it can mark a stored chunk \
         as all zeros, and the chunk then reads as zeros without an error."
        "Chunks were replaced or deleted, or the entry of a chunk was damaged."
        "Nothing, if chunks were replaced or deleted: `b2nd rewrite` leaves these bytes out. \
         Otherwise check that the items of the chunks that are not stored are plausible."
    ChunkFile "chunk-file" Error Frame Salvage
        "A chunk file of a sparse frame is missing or incomplete. C-Blosc2 cannot read that chunk, and does not open \
         the frame if it is the first one."
        "The directory was not copied in full, or a resize was killed."
        "Copy the whole directory again. If that is not possible, salvage it: the undamaged chunks are saved."
    DamagedTrailer "damaged-trailer" Error Frame Salvage
        "The trailer, or its list of vlmetalayers, has an invalid marker, length, offset or count, or does not follow \
         the chunks. C-Blosc2 does not open such a file."
        "A writer was killed or is still at work, or bytes were damaged."
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    Salvaged "salvaged" Warning Frame -
        "The frame was salvaged from a damaged one. Its vlmetalayer b2nd_salvage lists chunks that were lost, whose items \
         are zero or NaN, and chunks that could not be verified. If the chunk index was lost, the chunks are in the order \
         of the damaged file, which may be wrong."
        "The original frame was damaged."
        "Do not use the items of the lost chunks. If chunks could not be verified, or the order was assumed, check that \
         the items are plausible."
    VlmetalayerChunk "vlmetalayer-chunk" Error Frame Salvage
        "The bytes of a vlmetalayer are not a valid Blosc2 chunk. A check of the data also reports a chunk that cannot be \
         decompressed. C-Blosc2 cannot read the value."
        DAMAGE
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    VlmetalayerValue "vlmetalayer-value" Warning Frame Salvage
        "The name of a vlmetalayer is not UTF-8. A check of the data also reports a value that is not MessagePack, \
         the list of frames of a store if an entry leads to no frame, and the shape and dtype of a packed array that \
         do not have as many bytes as the chunks. C-Blosc2 reads the value, but python-blosc2 does not."
        "A program other than python-blosc2 wrote the value, or bytes were damaged."
        "Nothing, if another program wrote the value. Otherwise set the vlmetalayer again, or salvage the file without it."
}

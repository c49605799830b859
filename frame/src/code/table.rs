//! The codes of findings. A row has the name, the severity, the depth of a check that finds it, and the remedy; then the
//! meaning, the cause and the advice.

use crate::code::{CheckDepth, Remedy, Severity};

/// The cause of all codes for bytes that no writer produces.
const DAMAGE: &str =
    "Bytes were damaged: by a disk, by a transfer, or by a program that wrote into the file.";

codes! {
    // The file and the header.
    NotAFrame "not-a-frame" Error Frame -
        "The file does not begin with the magic bytes of a frame."
        "It is a file of another kind, or its first bytes were never written or are lost."
        "Check whether the file has another format. The frames in a zip file can be listed, and a scan finds the \
         frames in any other file."
    Truncated "truncated" Error Frame Salvage
        "The file is shorter than the frame, whose length is in its header."
        "A copy or download was stopped, the disk was full, or a writer was killed."
        "Copy or download the file again. If that is not possible, salvage it: without its index, the order of the \
         chunks must be assumed."
    LongerFile "longer-file" Warning Frame Rewrite
        "The file is longer than the frame. Readers ignore the bytes after the frame."
        "Something was appended, or the frame was written over a longer file."
        "Nothing, if something was appended on purpose. A rewrite into another file leaves it out."
    TooLong "too-long" Error Frame -
        "The header is longer than 64 MiB (in a zip file 1 MiB), or the trailer longer than 256 MiB. Real ones have a \
         few KiB. A length like this is not read, because a damaged file could ask for any amount of memory."
        DAMAGE
        "Check whether the file is damaged. If it really is so long, read it with C-Blosc2."
    NotAZip "not-a-zip" Error Frame -
        "The file is not a zip file, or its directory, which is at the end, is damaged or cut off."
        "A copy or download was stopped, or bytes were damaged."
        "Copy or download the file again. A scan finds the frames in it."
    ZipMember "zip-member" Error Frame -
        "A member of the zip file has a damaged local header, or shares bytes with another member."
        "A copy or download was stopped, or bytes were damaged."
        "Copy or download the file again. A scan finds the frames in it."
    ZipChecksum "zip-checksum" Error ChunkData -
        "The bytes of a member of the zip file do not have the CRC-32 that the directory of the zip file has for them, or \
         its name is another one there, or needs a version of the zip format that nobody knows. Or the record \
         at its end says another place or size of the directory. Python does not open the member, or reads changed data."
        DAMAGE
        "Copy or download the file again."
    HeaderMarker "header-marker" Error Frame Salvage
        "A value of the header has a wrong marker: the header is damaged, or its generation is unknown."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    HeaderLength "header-length" Error Frame Salvage
        "header_len is too short for the values of a header, or longer than the frame."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    FrameVersion "frame-version" Error Frame -
        "The version of the frame format is above 3, the last known one."
        "A newer program wrote the file, or the byte is damaged."
        "Read the file with a newer C-Blosc2. The other findings may be wrong."
    FrameType "frame-type" Error Frame -
        "The frame type is unknown, or does not fit the file: only a sparse frame is a directory, with its header in \
         chunks.b2frame."
        "The file was moved out of the directory of a sparse frame, or into one."
        "Put the file back where it came from."
    OldFrame "old-frame" Warning Frame Rewrite
        "The header is older than C-Blosc2 2.0.0-rc1, and C-Blosc2 no longer opens such a frame."
        "A program with a beta release of C-Blosc2 2.0 wrote the file."
        "Rewrite the file. This is possible if it begins with the byte 9d, but not with 9c."
    FilterCount "filter-count" Error Frame Salvage
        "The header counts more than 6 filters."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    UnknownFilter "unknown-filter" Warning Frame -
        "A filter has an unknown number below 160. Readers that do not know a filter do not open the file."
        "A newer program wrote the file, or the byte is damaged."
        "Read the file with a newer C-Blosc2, or restore the header from another copy."
    FilterParameter "filter-parameter" Warning Frame Salvage
        "The parameter of a filter is above 127. C-Blosc2 reads the file, but python-blosc2 4.14.1 does not open it."
        "A program gave trunc_prec or int_trunc a negative number of bits, or bytes were damaged."
        "Read the file with C-Blosc2, or salvage it if bytes were damaged: new chunks then have the filters that \
         python-blosc2 sets."
    Typesize "typesize" Error Frame Salvage
        "typesize, the size of an item, is less than 1."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    LostTypesize "lost-typesize" Error Frame Rewrite
        "typesize is 1, but items of the dtype have more than 255 bytes, and the sizes of chunks and blocks agree with \
         the dtype. python-blosc2 writes this for an array that is not contiguous in memory, and then cannot read it."
        "python-blosc2 wrote an array with items of more than 255 bytes that was not contiguous in memory."
        "Rewrite the file. This writes the item size into the header; then all items can be read."
    Sizes "sizes" Error Frame Salvage
        "nbytes, cbytes or chunksize is negative, though there are chunks."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."

    // The metalayers.
    MetalayerCount "metalayer-count" Error Frame Salvage
        "The header has more than 16 metalayers."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    IndexMarker "index-marker" Error Frame Salvage
        "In the index of metalayers, or before the content of one, a byte is wrong where the format has a fixed \
         marker."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    MetalayerOffset "metalayer-offset" Error Frame Salvage
        "The offset of a metalayer points outside the header."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    MetalayerLength "metalayer-length" Error Frame Salvage
        "The length of a metalayer is negative, or reaches beyond the header."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    IndexSize "index-size" Warning Frame -
        "The size field of the index of metalayers is wrong. Readers ignore it."
        "A program other than C-Blosc2 wrote the file, or bytes were damaged."
        "Nothing. The authors of the writing program may want to know."
    MetalayerList "metalayer-list" Warning Frame Rewrite
        "The list of metalayers has a wrong marker or count, or its contents do not follow one another up to the end \
         of the header. Readers ignore this."
        "A program other than C-Blosc2 wrote the file, or bytes were damaged."
        "Nothing, if the metalayers can be read. The authors of the writing program may want to know."
    DuplicateMetalayer "duplicate-metalayer" Warning Frame -
        "Two metalayers have the same name. Readers use the first one."
        "A program other than C-Blosc2 wrote the file, or bytes were damaged."
        "Check which one is right."
    MisnamedArray "misnamed-array" Warning Frame Salvage
        "The frame has no metalayer b2nd or caterva, but another metalayer describes an array of exactly this size. \
         Readers see plain chunks, without shape and dtype."
        "A byte of the name is damaged, or a program gave the metalayer another name."
        "If the name is damaged, salvage the file. This restores the name."
    ActiveObject "active-object" Warning Frame -
        "The frame describes its data instead of holding it: a reader must evaluate something in the file, or open or \
         fetch something elsewhere. python-blosc2 4.14.1 and later refuse to open most such frames unless they are \
         told to trust them."
        "A lazy expression, a proxy or a reference to an array elsewhere was saved, as its author wanted."
        "Open it only if you trust where it comes from, in python-blosc2 with deserialize=\"full\". Shape and dtype \
         can be read all the same."
    UnclosedTable "unclosed-table" Warning Frame -
        "A table of python-blosc2 does not say how many rows it has, which is written last. Its columns may have room for \
         more rows than were written; _valid_rows.b2nd says which are there."
        "The program that wrote it was killed or has not closed the table, or still writes."
        "Open the table in python-blosc2, and look at its last rows: what was not written yet is lost. Copy the rows \
         into a new table, and close that."

    // The array's metalayer: its bytes.
    ArrayMarker "array-marker" Error Frame Salvage
        "A byte of the array's metalayer is wrong where the format has a fixed marker."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    ArrayTruncated "array-truncated" Error Frame Salvage
        "The array's metalayer ends before its last entry."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    Rank "rank" Error Frame Salvage
        "The array has more than 16 dimensions."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    DtypeLength "dtype-length" Error Frame Salvage
        "The length of the dtype is negative, or reaches beyond the metalayer."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    DtypeText "dtype-text" Error Frame Salvage
        "The dtype is not UTF-8, or contains a NUL."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    StaleTail "stale-tail" Warning Frame -
        "Old bytes follow the array's metalayer. python-blosc2 2.1 to 3.10 and python-caterva 0.5 to 0.7 left them \
         there when they squeezed an array."
        "A release of python-blosc2 or python-caterva squeezed the array."
        "Nothing. A rewrite removes them."
    OldLayout "old-layout" Warning Frame Rewrite
        "The array's metalayer has a layout that C-Blosc2 no longer writes. C-Blosc2 3 and later open a Caterva file \
         as plain chunks, without a shape; no release of C-Blosc2 reads b2nd-six."
        "Caterva wrote the file, or a C-Blosc2 of January or February 2023."
        "Rewrite the file. For a Caterva file you must know the dtype."

    // The array's metalayer: its meaning.
    ArrayVersion "array-version" Error Frame -
        "The array's metalayer has a version other than 0, the only known one."
        "A newer program wrote the file, or the byte is damaged."
        "Read the file with a newer version of b2nd-serde."
    NegativeDimension "negative-dimension" Error Frame Salvage
        "A dimension is negative."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    ZeroBlock "zero-block" Error Frame Salvage
        "A block has no items along a dimension along which the chunk has some."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    ZeroChunk "zero-chunk" Error Frame Salvage
        "A chunk has no items along a dimension along which the array has some."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    Overflow "overflow" Error Frame Salvage
        "A number of items is too large: an array is limited to int64, a chunk or block to int32."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    ChunkTooLarge "chunk-too-large" Error Frame Salvage
        "A decompressed chunk is larger than Blosc2 allows, about 2 GiB, so it cannot have been written."
        DAMAGE
        "Salvage the file with the right shape, chunk shape, block shape and dtype, as far as you know them."
    UnsetBlockshape "unset-blockshape" Warning Frame Rewrite
        "The block shape was never set: Caterva 0.2 and 0.3 did not divide chunks into blocks."
        "Caterva 0.2 or 0.3 wrote the file."
        "Use the chunk shape as the block shape. A rewrite does so too."
    HighRank "high-rank" Warning Frame -
        "The array has more than 8 dimensions. Readers before C-Blosc2 2.21.3 crash on it."
        "The array was made with so many dimensions."
        "Make sure that all readers are newer."

    // The agreement of metalayer and header.
    ZeroChunksize "zero-chunksize" Error Frame Salvage
        "chunksize is 0, but the array has items. Readers divide by it."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    ChunksizeMismatch "chunksize-mismatch" Error Frame -
        "chunksize is not the size of a chunk padded to whole blocks: metalayer and data disagree about the chunks."
        "python-caterva squeezed the array and left its chunks, or bytes were damaged."
        "Do not trust the shape. If python-caterva squeezed the array, restore the removed dimensions."
    EmptyChunksize "empty-chunksize" Warning Frame -
        "The array has no items, and chunksize is neither the size of a chunk nor -1."
        "The writer left a number that has no meaning as long as there are no items."
        "Nothing, until the array grows."
    BlocksizeMismatch "blocksize-mismatch" Error Frame Salvage
        "blocksize is not the size of a block: metalayer and data disagree about the blocks."
        DAMAGE
        "Salvage the file. This restores what follows from the rest of the frame."
    InterruptedResize "interrupted-resize" Error Frame Edit
        "nbytes, the size of all chunks, does not fit the shape: a resize is under way or was interrupted, or nbytes \
         or a dimension is damaged. C-Blosc2 opens the file all the same; its items may be right, wrong or zero."
        "A program that resized the array was killed half-way, or is still at work: it writes the sizes and the shape \
         one after the other."
        "Check again, in case a writer is at work. Otherwise set the shape that the array had before, or any other \
         with as many chunks as there are, and compare the items with what you know of them."
    DtypeMismatch "dtype-mismatch" Warning Frame -
        "The item size of the dtype is not the typesize of the frame, which alone determines how the data is laid \
         out."
        "The writer stated a dtype that does not fit the data."
        "Treat the items as opaque bytes, or set a dtype of that size."
    UnknownDtype "unknown-dtype" Warning Frame -
        "The dtype is not one of NumPy or ml_dtypes, so the type of the items is unknown."
        "A library with dtypes of its own wrote the file, or the text is damaged."
        "Treat the items as opaque bytes, or set the dtype anew. The data does not depend on it."
    ObjectDtype "object-dtype" Error Frame -
        "The items, or fields of them, are Python objects (|O), of which only the addresses in the memory of the program that \
         wrote them are stored. Another program that reads an item in Python crashes, or takes what the file says for an \
         address."
        "python-blosc2 stored an array of Python objects, or the dtype is damaged."
        "Do not read the items. Store the objects again in a way that keeps them, as an ObjectArray or as a dtype of \
         fixed size; the file does not have them."
    UnknownDtypeFormat "unknown-dtype-format" Warning Frame -
        "The dtype format is not 0 (NumPy), the only known one."
        "A newer program wrote the file, or the byte is damaged."
        "Treat the items as opaque bytes, or read them with the program that wrote the file."

    // The chunk index and the trailer.
    ChunkIndexPlace "chunk-index-place" Error Frame Salvage
        "The chunk index is not where header_len and cbytes put it, or it overlaps the trailer."
        "A writer was killed or is still at work, or bytes were damaged."
        "Restore the file from another copy. If there is none, salvage it: the chunks that the index still leads to \
         are saved."
    ChunkIndexCount "chunk-index-count" Error Frame Salvage
        "The number of chunks in the chunk index is not nbytes / chunksize."
        "A writer was killed or is still at work, or bytes were damaged."
        "Check again, in case a writer is at work. Otherwise salvage the file, with the shape that the array had \
         before if that is not in it."
    ChunkIndexHeader "chunk-index-header" Error Frame Salvage
        "The header that the chunk index has as a Blosc2 chunk is damaged: its items have another size than 8 bytes, its \
         blocks have no size or a wrong one, or its flags contradict each other. C-Blosc2 does not open such a file."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: without its index, the order of the chunks must be \
         assumed."
    ChunkIndexGap "chunk-index-gap" Warning Frame -
        "There are bytes between the chunk index and the trailer. C-Blosc2 reads such a file."
        "A program changed the chunks in the file, and left old bytes there."
        "Nothing. A copy made by C-Blosc2 does not have the gap."
    ChunkOffset "chunk-offset" Error Frame Salvage
        "The chunk index has an offset outside the chunks, which C-Blosc2 does not open, or the same offset twice, for \
         which it reads the same data twice. In a sparse frame, the number of a file must be at most cbytes - 32 too. \
         The same goes for a special value that no version of C-Blosc2 knows."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: the chunks that the index still leads to \
         are saved."
    ChunkIndexData "chunk-index-data" Error Frame Salvage
        "The chunk index is a Blosc2 chunk that cannot be decompressed, or that does not hold offsets. C-Blosc2 does \
         not open such a file."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: without its index, the order of the chunks must be \
         assumed."
    LostChunkLength "lost-chunk-length" Error Frame -
        "Chunks have different sizes, and one of them is a special value, for which only the chunk index has an entry. \
         Its size is not stored anywhere, so C-Blosc2 cannot read it. python-blosc2 writes this where a chunk of zeros \
         is appended."
        "python-blosc2 appended a chunk of zeros to chunks of different sizes."
        "The other chunks can be read. If there is one such chunk, its size is what is left of nbytes."
    NoData "no-data" Warning Frame -
        "No chunk is stored: all items are zero, NaN or not initialized. A writer that was killed before its first \
         chunk leaves such a file, which opens without an error. blosc2.zeros and its like look the same."
        "A writer was killed, or the array was meant to be so."
        "Nothing, if the array was meant to be so. Otherwise write it again."
    NeverWritten "never-written" Warning Frame -
        "The first chunks are stored, and all that follow are zero, NaN or not initialized. A writer that was killed \
         leaves such a file, which opens without an error. No byte of the file tells it from data that ends with zeros, \
         such as labels whose last chunks are background, from an array that was enlarged, and from blosc2.zeros of \
         which only the first items were set."
        "A writer was killed, or the data ends so."
        "Compare the last items with what you know of them, and labels with their image. If the writer was killed, write \
         the array again. Where data may end so, ignore this code."
    ChunkHeader "chunk-header" Error ChunkHeaders Salvage
        "The header of a chunk is damaged, or does not fit the frame. C-Blosc2 cannot read the chunk, or reads wrong \
         items."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: all other chunks are saved."
    ChunkFilters "chunk-filters" Warning ChunkHeaders -
        "The header of a chunk has other filters than the frame, or filters that no version of C-Blosc2 knows. If it \
         is damaged, its data is read wrong, without an error. A program that changed the compression parameters of an \
         array leaves such chunks too."
        "A program changed the compression parameters of the array after some chunks, or bytes were damaged."
        "If the parameters were not changed, restore the file from another copy."
    ChunkDictionary "chunk-dictionary" Error ChunkHeaders Salvage
        "A chunk is not compressed, but its header has the flag of a dictionary. C-Blosc2 takes the first 4 bytes of the \
         data for the length of a dictionary, and refuses the chunk unless they happen to be a valid length. The data \
         itself is whole, and this crate reads it."
        "C-Blosc2 was told to use a dictionary, and the data of the chunk could not be compressed; or a byte was damaged."
        "Salvage the file. This clears the flag, and no data is lost."
    ChunkData "chunk-data" Error ChunkData Salvage
        "The data of a chunk cannot be decompressed. C-Blosc2 cannot read the chunk, or not all of its blocks."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: all other chunks are saved."
    ChunkOverlap "chunk-overlap" Error ChunkHeaders Salvage
        "Two chunks share bytes, so one of them was overwritten or has a damaged header."
        DAMAGE
        "Restore the file from another copy. If there is none, salvage it: all other chunks are saved."
    UnownedBytes "unowned-bytes" Warning ChunkHeaders -
        "Bytes of chunks, or in a sparse frame a chunk file that is not empty, belong to no entry of the chunk index. \
         Chunks that were replaced or deleted leave them. So does a damaged entry, which says that a stored chunk is \
         all zeros: it is read so without an error."
        "Chunks were replaced or deleted, or the entry of a chunk was damaged."
        "Nothing, if chunks were replaced or deleted: a copy by python-blosc2 does not have the bytes. Otherwise compare the \
         chunks that are not stored with what you know of them."
    ChunkFile "chunk-file" Error Frame Salvage
        "A chunk file of a sparse frame is missing or not whole. C-Blosc2 cannot read that chunk, and does not open \
         the frame if it is the first one."
        "The directory was not copied in full, or a resize was killed."
        "Copy the whole directory again. If that is not possible, salvage it: all other chunks are saved."
    TrailerMarker "trailer-marker" Error Frame Salvage
        "A byte of the trailer is wrong where the format has a fixed marker. C-Blosc2 does not open such a file."
        DAMAGE
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    TrailerLength "trailer-length" Error Frame Salvage
        "The trailer is too short, or longer than all that follows the header. C-Blosc2 does not open such a file."
        DAMAGE
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    TrailerPlace "trailer-place" Error Frame Salvage
        "The frame has no chunks, but the trailer does not follow the header, where readers look for it."
        "A writer was killed or is still at work, or bytes were damaged."
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    VlmetalayerFlag "vlmetalayer-flag" Warning Frame -
        "The header says that there are vlmetalayers but the trailer has none, or the other way round. Readers use the \
         trailer."
        "A writer changed the trailer, but not the header."
        "Nothing."
    VlmetalayerCount "vlmetalayer-count" Error Frame Salvage
        "The trailer has more than 8192 vlmetalayers."
        DAMAGE
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    VlmetalayerOffset "vlmetalayer-offset" Error Frame Salvage
        "The offset of a vlmetalayer points outside the trailer."
        DAMAGE
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    VlmetalayerLength "vlmetalayer-length" Error Frame Salvage
        "The length of a vlmetalayer is negative, or reaches beyond the trailer."
        DAMAGE
        "Salvage the file: the data and all vlmetalayers that can be read are saved."
    Salvaged "salvaged" Warning Frame -
        "The frame was salvaged from a damaged one, and its vlmetalayer b2nd_salvage lists chunks that were lost: their \
         items are zero or NaN. Or its chunks were placed in the order of the damaged file, without a chunk index."
        "The frame that it was made of was damaged."
        "Do not use the items of the lost chunks. If the order was assumed, compare some items with what you know of them."
    VlmetalayerChunk "vlmetalayer-chunk" Warning Frame Salvage
        "A vlmetalayer is not a valid Blosc2 chunk, or in a check of the data, its value cannot be decompressed or is not \
         MessagePack. python-blosc2 cannot read the value."
        "Bytes were damaged, or another program than python-blosc2 wrote the value."
        "Set the vlmetalayer anew if python-blosc2 wrote it, or salvage the file without it."
}

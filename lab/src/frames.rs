//! Makes frames and chunks byte by byte.

use std::fs;

use crate::data;

/// The position in a frame header at which the offset of a metalayer's content is stored.
pub fn offset_field(header: &[u8], name: &str) -> usize {
    let entry = [&[0xa0 + u8::try_from(name.len()).unwrap()], name.as_bytes(), &[0xd2]].concat();
    header.windows(entry.len()).position(|bytes| bytes == entry).unwrap() + entry.len()
}

/// A frame without chunks, with the given metalayers and vlmetalayers. The bytes of a vlmetalayer are the chunk that
/// the trailer stores.
pub fn frame_of(metalayers: &[(&str, &[u8])], vlmetalayers: &[(&str, &[u8])]) -> Vec<u8> {
    const SECTION: usize = 87;
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap()[..SECTION].to_vec();
    file.extend(section(SECTION, metalayers));
    let header_len = i32::try_from(file.len()).unwrap();
    let mut trailer = vec![0x94, 0x01];
    trailer.extend(section(2, vlmetalayers));
    let trailer_len = u32::try_from(trailer.len() + 23).unwrap();
    trailer.push(0xce);
    trailer.extend(trailer_len.to_be_bytes());
    trailer.push(0xd8);
    trailer.extend([0; 17]);
    file.extend(trailer);
    // Offsets in a header: 11 header_len, 16 frame_len, 30 nbytes, 39 cbytes, 68 the flag of vlmetalayers.
    let frame_len = file.len() as u64;
    file[11..15].copy_from_slice(&header_len.to_be_bytes());
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file[30..38].fill(0);
    file[39..47].fill(0);
    file[68] = if vlmetalayers.is_empty() { 0xc2 } else { 0xc3 };
    file
}

/// The section of metalayers in a header or a trailer. `start` is the offset of the section in the header or trailer.
fn section(start: usize, layers: &[(&str, &[u8])]) -> Vec<u8> {
    let count = u16::try_from(layers.len()).unwrap().to_be_bytes();
    let list: usize = 7 + layers.iter().map(|(name, _)| 1 + name.len() + 5).sum::<usize>();
    let mut bytes = vec![0x93, 0xcd];
    bytes.extend(u16::try_from(list & 0xffff).unwrap().to_be_bytes());
    bytes.push(0xde);
    bytes.extend(count);
    let mut offset = start + list + 3;
    for (name, content) in layers {
        bytes.push(0xa0 + u8::try_from(name.len()).unwrap());
        bytes.extend(name.as_bytes());
        bytes.push(0xd2);
        bytes.extend(i32::try_from(offset).unwrap().to_be_bytes());
        offset += 5 + content.len();
    }
    bytes.push(0xdc);
    bytes.extend(count);
    for (_, content) in layers {
        bytes.push(0xc6);
        bytes.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
        bytes.extend(*content);
    }
    bytes
}

/// The chunks in a file of the folder `frame/tests/data/chunks` or `chunk/tests/data`.
pub fn chunks_of(name: &str) -> Vec<Vec<u8>> {
    let folders = [data().join("chunks"), crate::root().join("chunk/tests/data")];
    let mut paths = folders.iter().map(|folder| folder.join(format!("{name}.chunks")));
    let bytes = fs::read(paths.find(|path| path.exists()).unwrap()).unwrap();
    let mut rest = &bytes[..];
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        // The length of a chunk is stored at byte 12 of the chunk.
        let (chunk, after) = rest.split_at(u32::from_le_bytes(rest[12..16].try_into().unwrap()) as usize);
        chunks.push(chunk.to_vec());
        rest = after;
    }
    chunks
}

/// An uncompressed Blosc2 chunk with these bytes as its data.
pub fn stored_chunk(data: &[u8]) -> Vec<u8> {
    let mut chunk = chunk_header(data.len(), 32 + data.len());
    // Sets the flag of uncompressed data.
    chunk[2] |= 0x02;
    chunk.extend(data);
    chunk
}

/// A frame without an array. `chunks` are the bytes of its chunks, one after the other. `starts` are the offsets of the
/// chunks in these bytes. Each chunk has `nbytes` bytes of decompressed data.
pub fn frame_of_chunks(chunks: &[u8], starts: &[usize], nbytes: usize) -> Vec<u8> {
    with_chunks(frame_of(&[], &[]), chunks, starts, nbytes)
}

/// Adds chunks to a frame made by [`frame_of`].
pub fn with_chunks(mut file: Vec<u8>, chunks: &[u8], starts: &[usize], nbytes: usize) -> Vec<u8> {
    let header_len = u32::from_be_bytes(file[11..15].try_into().unwrap()) as usize;
    let offsets: Vec<u8> = starts.iter().flat_map(|&start| (start as u64).to_le_bytes()).collect();
    let mut index = stored_chunk(&offsets);
    // The typesize of the chunk index is 8, because an offset has 8 bytes.
    index[3] = 8;
    let body = [chunks, &index].concat();
    file.splice(header_len..header_len, body);
    // The product is computed in `u64`, because it may exceed `usize` on 32-bit machines.
    let all = nbytes as u64 * starts.len() as u64;
    // Offsets in a header: 16 frame_len, 30 nbytes, 39 cbytes, 58 chunksize.
    for (at, number) in [(16, file.len() as u64), (30, all), (39, chunks.len() as u64)] {
        file[at..at + 8].copy_from_slice(&number.to_be_bytes());
    }
    file[58..62].copy_from_slice(&u32::try_from(nbytes).unwrap().to_be_bytes());
    file
}

/// A compressed chunk of blocks of 8 bytes. Its table gives all blocks the same start, and the bytes at this start are
/// zeros.
pub fn chunk_with_a_table(blocks: usize) -> Vec<u8> {
    let end = 36 + 4 * blocks;
    let mut chunk = vec![0; end];
    // Version 5, codec version 1, flags (extended header, LZ4, unsplit blocks), typesize 1.
    chunk[..4].copy_from_slice(&[5, 1, 0x35, 1]);
    let starts = std::iter::repeat_n(end - 4, blocks);
    for (at, number) in
        [8 * blocks, 8, end].into_iter().chain(std::iter::repeat_n(0, 4)).chain(starts).enumerate()
    {
        chunk[4 + 4 * at..8 + 4 * at].copy_from_slice(&u32::try_from(number).unwrap().to_le_bytes());
    }
    chunk
}

/// A Blosc2 chunk of 32 bytes that represents `nbytes` zeros, in blocks of at most 97 bytes.
pub fn chunk_of_zeros(nbytes: usize) -> Vec<u8> {
    let mut chunk = chunk_header(nbytes, 32);
    // Bits 4 to 6 are the number of the special value. The number 1 means zeros.
    chunk[31] = 0x10;
    chunk
}

fn chunk_header(nbytes: usize, cbytes: usize) -> Vec<u8> {
    let mut header = vec![0; 32];
    // Version 5, codec version 1, flags (extended header), typesize 1.
    header[..4].copy_from_slice(&[5, 1, 0x05, 1]);
    for (at, number) in [(4, nbytes), (8, 97.min(nbytes)), (12, cbytes)] {
        header[at..at + 4].copy_from_slice(&i32::try_from(number).unwrap().to_le_bytes());
    }
    header
}

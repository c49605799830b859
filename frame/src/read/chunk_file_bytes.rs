//! Reads the chunk files of a sparse frame.

use crate::chunk_file;
use crate::error::Error;
use crate::file_version::{FileStamp, StampHash, has_changed};
use crate::header::frame::Frame;
use crate::read::open::open_chunk_file;
use crate::source::{ReadAt, read_up_to};

/// Bytes of a stored chunk, and the room for this chunk.
pub(crate) struct ChunkBytes {
    pub(crate) bytes: Vec<u8>,
    /// The largest possible length of the chunk. For a chunk in the frame, it is the number of bytes from the start of
    /// this chunk to the end of all chunks. For a chunk file, it is the length of the file.
    pub(crate) room: u64,
    /// The version of the chunk file; `None` for a chunk in the frame.
    pub(crate) version: Option<StampHash>,
}

impl<R: ReadAt> Frame<R> {
    /// Reads up to `length` bytes of a chunk file, beginning at byte `from` of the file. If the file ends early,
    /// returns the bytes up to its end; if the file is missing, returns `None`. `number` is the number in the name of
    /// the file.
    pub(crate) fn file_bytes(
        &self,
        number: u64,
        from: u64,
        length: u64,
    ) -> Result<Option<ChunkBytes>, Error> {
        let Some(directory) = self.directory() else {
            return Err(Error::invalid_input(
                "the chunks of a sparse frame are only found if it was opened by its path",
            ));
        };
        let path = directory.join(chunk_file::name(number));
        let unreadable = |error| Error::io("read", &path, error);
        let Some((file, metadata)) = open_chunk_file(&path).map_err(unreadable)? else {
            // A commit removes the files of the chunks that it replaces. So after a commit, the missing file is not
            // damage.
            if has_changed(self.version.as_ref(), self.version_now()?.as_ref()) {
                return Err(Error::changing(None));
            }
            return Ok(None);
        };
        // A later commit may have used the file number again, for another chunk. So `chunks.b2frame` is checked after
        // the chunk file was opened: if no other file has replaced it, the chunk file belongs to its index.
        if let (Some(opened), Some(index), Some(version)) = (self.opened, self.path(), &self.version)
            && version.can_precede(opened, &metadata, index)
        {
            return Err(Error::changing(None));
        }
        let (room, version) = (metadata.len(), FileStamp::of(&metadata));
        let mut bytes = Vec::new();
        // The read ends at the end of the file, because a longer read would need a further call to find that end.
        read_up_to(&file, from, length.min(room.saturating_sub(from)), &mut bytes).map_err(unreadable)?;
        // python-blosc2 overwrites a chunk file in place, so the file may have changed during the read.
        if FileStamp::of(&file.metadata().map_err(unreadable)?) != version {
            return Err(Error::changing(None));
        }
        Ok(Some(ChunkBytes { bytes, room, version: Some(version.to_hash()) }))
    }
}

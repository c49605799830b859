//! Calls C-Blosc2's two functions for the metalayer, which are in a shared library. `lab/interop` uses this file too.

#![allow(unsafe_code, reason = "calls into C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::{env, ops, ptr, slice};

use libloading::Library;

type Serialize = unsafe extern "C" fn(
    ndim: i8,
    shape: *const i64,
    chunkshape: *const i32,
    blockshape: *const i32,
    dtype: *const c_char,
    dtype_format: i8,
    smeta: *mut *mut u8,
) -> c_int;

type Deserialize = unsafe extern "C" fn(
    smeta: *const u8,
    smeta_len: i32,
    ndim: *mut i8,
    shape: *mut i64,
    chunkshape: *mut i32,
    blockshape: *mut i32,
    dtype: *mut *mut c_char,
    dtype_format: *mut i8,
) -> c_int;

unsafe extern "C" {
    fn free(pointer: *mut c_void);
}

pub struct CBlosc2 {
    serialize: Serialize,
    deserialize: Deserialize,
    /// Keeps the library loaded, because the function pointers need it.
    _library: Library,
}

/// A metalayer that C-Blosc2 has written, in memory that C-Blosc2 allocated.
pub struct Written {
    bytes: *mut u8,
    length: usize,
}

/// The buffers into which C-Blosc2's reader writes all entries except the version and the dtype. The reader allocates
/// the memory of the dtype itself.
#[derive(Default)]
pub struct Fields {
    pub ndim: i8,
    pub shape: [i64; 16],
    pub chunkshape: [i32; 16],
    pub blockshape: [i32; 16],
    pub dtype_format: i8,
}

/// A dtype that C-Blosc2 has read.
pub struct Dtype {
    text: *mut c_char,
}

impl CBlosc2 {
    /// Loads the shared library at the path in the environment variable `B2ND_LIBBLOSC2`, if this variable is set.
    pub fn load() -> Option<Self> {
        let path = env::var_os("B2ND_LIBBLOSC2")?;
        // SAFETY: the library's initializers do nothing, the types agree with its headers, and the functions are
        // not kept longer than the library.
        let loaded = unsafe {
            Library::new(&path).and_then(|library| {
                Ok(Self {
                    serialize: *library.get::<Serialize>(b"b2nd_serialize_meta")?,
                    deserialize: *library.get::<Deserialize>(b"b2nd_deserialize_meta")?,
                    _library: library,
                })
            })
        };
        Some(loaded.unwrap_or_else(|error| panic!("B2ND_LIBBLOSC2={}: {error}", Path::new(&path).display())))
    }

    /// Writes the entries of a metalayer. The three shapes must have the same number of dimensions.
    pub fn serialize(
        &self,
        shape: &[i64],
        chunkshape: &[i32],
        blockshape: &[i32],
        dtype: &CStr,
        dtype_format: i8,
    ) -> Written {
        assert!(chunkshape.len() == shape.len() && blockshape.len() == shape.len());
        let mut bytes = ptr::null_mut();
        // SAFETY: each of the three shapes has `ndim` items.
        let length = unsafe {
            (self.serialize)(
                shape.len().try_into().expect("at most 16 dimensions"),
                shape.as_ptr(),
                chunkshape.as_ptr(),
                blockshape.as_ptr(),
                dtype.as_ptr(),
                dtype_format,
                &raw mut bytes,
            )
        };
        Written { bytes, length: length.try_into().expect("C-Blosc2 writes it") }
    }

    /// Reads the entries of a metalayer. Returns the length of the metalayer or an error code, and the dtype.
    pub fn deserialize(&self, bytes: &[u8], fields: &mut Fields) -> (c_int, Dtype) {
        let mut text = ptr::null_mut();
        // SAFETY: the arrays in `fields` have room for C-Blosc2's largest rank.
        let code = unsafe {
            (self.deserialize)(
                bytes.as_ptr(),
                bytes.len().try_into().expect("a short metalayer"),
                &raw mut fields.ndim,
                fields.shape.as_mut_ptr(),
                fields.chunkshape.as_mut_ptr(),
                fields.blockshape.as_mut_ptr(),
                &raw mut text,
                &raw mut fields.dtype_format,
            )
        };
        (code, Dtype { text })
    }
}

impl ops::Deref for Written {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: C-Blosc2 allocated and wrote `length` bytes.
        unsafe { slice::from_raw_parts(self.bytes, self.length) }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from C's `malloc`, and nobody else frees it.
        unsafe { free(self.bytes.cast()) }
    }
}

impl Dtype {
    /// The text of the dtype, if the metalayer has a dtype.
    pub fn text(&self) -> Option<&CStr> {
        // SAFETY: if C-Blosc2 has read a dtype, it has allocated a C string.
        (!self.text.is_null()).then(|| unsafe { CStr::from_ptr(self.text) })
    }
}

impl Drop for Dtype {
    fn drop(&mut self) {
        // SAFETY: the pointer is null or comes from C's `malloc`, and nobody else frees it.
        unsafe { free(self.text.cast()) }
    }
}

//! C-Blosc2's two functions for the metalayer, from a shared library.

#![allow(unsafe_code, reason = "calls into C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::{env, ops, ptr, slice};

use libloading::Library;

use b2nd_serde_user::vecs::Vecs;

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

type Version = unsafe extern "C" fn() -> *const c_char;

unsafe extern "C" {
    fn free(pointer: *mut c_void);
}

pub struct CBlosc2 {
    serialize: Serialize,
    deserialize: Deserialize,
    pub version: String,
    /// Keeps the library loaded, as the function pointers need it.
    _library: Library,
}

/// A metalayer that C-Blosc2 has written, in memory of its own.
pub struct Written {
    bytes: *mut u8,
    length: usize,
}

/// The output buffers of C-Blosc2's reader. It allocates only the dtype.
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
    /// The library that the environment variable `B2ND_LIBBLOSC2` names, if it is set.
    pub fn load() -> Option<Self> {
        let path = env::var_os("B2ND_LIBBLOSC2")?;
        // SAFETY: the library's initializers do nothing, the types are those of its headers, and the functions are
        // kept no longer than the library.
        let loaded = unsafe {
            Library::new(&path).and_then(|library| {
                let version = *library.get::<Version>(b"blosc2_get_version_string")?;
                Ok(Self {
                    serialize: *library.get::<Serialize>(b"b2nd_serialize_meta")?,
                    deserialize: *library.get::<Deserialize>(b"b2nd_deserialize_meta")?,
                    version: CStr::from_ptr(version()).to_string_lossy().into_owned(),
                    _library: library,
                })
            })
        };
        Some(loaded.unwrap_or_else(|error| panic!("B2ND_LIBBLOSC2={}: {error}", path.display())))
    }

    pub fn serialize(&self, value: &Vecs, dtype: &CStr) -> Written {
        let mut bytes = ptr::null_mut();
        // SAFETY: each vector has `ndim` items.
        let length = unsafe {
            (self.serialize)(
                value.ndim.cast_signed(),
                value.shape.as_ptr(),
                value.chunkshape.as_ptr(),
                value.blockshape.as_ptr(),
                dtype.as_ptr(),
                value.dtype_format.cast_signed(),
                &raw mut bytes,
            )
        };
        Written { bytes, length: length.try_into().expect("C-Blosc2 writes it") }
    }

    pub fn deserialize(&self, bytes: &[u8], fields: &mut Fields) -> Dtype {
        let mut text = ptr::null_mut();
        // SAFETY: the vectors have room for C-Blosc2's largest rank.
        let length = unsafe {
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
        assert!(length > 0, "C-Blosc2 reads it");
        Dtype { text }
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
        // SAFETY: it comes from C's `malloc`, and nobody else frees it.
        unsafe { free(self.bytes.cast()) }
    }
}

impl ops::Deref for Dtype {
    type Target = CStr;

    fn deref(&self) -> &CStr {
        // SAFETY: C-Blosc2 has allocated a C string.
        unsafe { CStr::from_ptr(self.text) }
    }
}

impl Drop for Dtype {
    fn drop(&mut self) {
        // SAFETY: it comes from C's `malloc`, and nobody else frees it.
        unsafe { free(self.text.cast()) }
    }
}

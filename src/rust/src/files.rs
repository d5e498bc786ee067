//! Targets of links and modes of files, and checksums, which R has no functions for.

use crate::ffi::*;
use crate::guard::{protected, Outcome, Scope};
use crate::vector;
use anvil_core::error::Error;
use anvil_core::stop;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Links that are followed from one path, at most, as systems do.
const MOST_LINKS: usize = 40;

/// A path of R, in the encoding of the system.
fn path(x: SEXP) -> Result<PathBuf, Error> {
    if kind(x) != STRSXP || len(x) != 1 {
        return Err(Error::Internal { detail: "a path that is no string".into() });
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: a string vector of length 1; its bytes live as long as it does, and are copied.
        let bytes = unsafe { std::ffi::CStr::from_ptr(R_CHAR(STRING_ELT(x, 0))) }.to_bytes();
        Ok(std::ffi::OsStr::from_bytes(bytes).into())
    }
    #[cfg(not(unix))]
    Ok(string(x).unwrap_or_default().into())
}

/// A path as a string of R.
///
/// # Safety
/// May jump: only inside [`protected`].
unsafe fn r_path(path: &Path) -> SEXP {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let bytes = path.as_os_str().as_bytes();
        // SAFETY: by the caller; the bytes are copied.
        unsafe { Rf_mkCharLenCE(bytes.as_ptr().cast(), bytes.len() as std::os::raw::c_int, CE_NATIVE) }
    }
    #[cfg(not(unix))]
    // SAFETY: by the caller.
    unsafe {
        crate::guard::r_char(&path.to_string_lossy())
    }
}

/// The target of a path, links followed: `c(path, kind)`. The kind is "none", "file", "folder", "other" (a
/// device, a pipe, a socket) or, if it cannot be found out, the system's error.
pub fn target(x: SEXP, scope: &Scope) -> Outcome {
    let mut at = path(x)?;
    let mut links = 0;
    let found = loop {
        match fs::symlink_metadata(&at) {
            Ok(meta) if meta.file_type().is_symlink() && links < MOST_LINKS => match fs::read_link(&at) {
                Ok(to) => {
                    links += 1;
                    at = at.parent().unwrap_or(Path::new("")).join(to);
                }
                Err(e) => break reason(&e),
            },
            Ok(meta) if meta.is_file() => break "file".into(),
            Ok(meta) if meta.is_dir() => break "folder".into(),
            Ok(meta) if meta.file_type().is_symlink() => break "too many levels of symbolic links".into(),
            Ok(_) => break "other".into(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => break "none".into(),
            Err(e) => break reason(&e),
        }
    };
    // SAFETY: inside `protected`; the vector is protected while its elements are made.
    let out = protected(|| unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, 2));
        SET_STRING_ELT(out, 0, r_path(&at));
        SET_STRING_ELT(out, 1, crate::guard::r_char(&found));
        Rf_unprotect(1);
        out
    })?;
    Ok(scope.keep(out))
}

/// The system's error message, without the number that Rust adds.
fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.chars().take(1).flat_map(char::to_lowercase).chain(text.chars().skip(1)).collect()
}

/// Gives a file the mode of another, and its owner and group if the process may do that.
pub fn like(file: SEXP, other: SEXP) -> Outcome {
    let (file, other) = (path(file)?, path(other)?);
    // Failures are ignored: they are no reason to lose the new file.
    if let Ok(meta) = fs::metadata(other) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{chown, MetadataExt};
            let _ = chown(&file, Some(meta.uid()), Some(meta.gid()));
        }
        // The mode is set after the owner, whose change clears special bits of the mode.
        let _ = fs::set_permissions(&file, meta.permissions());
    }
    Ok(nil())
}

/// A table of remainders, by which a checksum takes a byte at once.
const REMAINDERS: [u32; 256] = {
    let (mut table, mut i) = ([0; 256], 0);
    while i < 256 {
        let (mut x, mut bit) = (i as u32, 0);
        while bit < 8 {
            x = if x & 1 == 1 { 0xEDB8_8320 ^ (x >> 1) } else { x >> 1 };
            bit += 1;
        }
        table[i] = x;
        i += 1;
    }
    table
};

/// The checksum of the bytes of a vector after others, whose checksum is `before` (0 of none): CRC-32, as zip
/// archives have it (ISO 3309).
pub fn crc32(x: SEXP, before: SEXP, scope: &Scope) -> Outcome {
    let bytes = vector::bytes(x, 1)?;
    // SAFETY: a double, by the R side.
    let mut crc = !(unsafe { *REAL(before) } as u32);
    for part in bytes.as_slice().chunks(stop::EVERY) {
        stop::work(part.len());
        for &byte in part {
            crc = REMAINDERS[((crc ^ u32::from(byte)) & 255) as usize] ^ (crc >> 8);
        }
    }
    // SAFETY: inside `protected`.
    Ok(scope.keep(protected(|| unsafe { Rf_ScalarReal(f64::from(!crc)) })?))
}

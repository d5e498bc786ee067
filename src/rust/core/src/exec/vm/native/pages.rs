//! Executable memory. Pages are writable first and executable after, never both (W^X); where the system
//! refuses them, programs run without native code.
//!
//! Its few functions of systems are declared here: crates that do so bring the declarations of whole systems,
//! which is more source than that of the engine, and none keeps to all that Apple's processors ask for.

/// Pages with executable code, unmapped when dropped.
#[derive(Debug)]
pub struct Pages {
    start: *mut u8,
    len: usize,
}

// SAFETY: nothing writes there any more.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Executable pages with this code; `None` if the system refuses them.
    pub fn new(code: &[u8]) -> Option<Pages> {
        let len = code.len().max(1);
        let pages = Pages { start: system::map(len)?.cast(), len };
        // SAFETY: the memory is ours, as long, and nobody else knows it.
        let can_run = unsafe { system::fill(pages.start, code, len) };
        can_run.then_some(pages)
    }

    /// The address of the code from this byte on.
    pub fn at(&self, offset: usize) -> *const u8 {
        assert!(offset < self.len, "code outside of its pages");
        self.start.wrapping_add(offset).cast_const()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: from `map`, of this length; whoever runs the code holds the pages.
        unsafe { system::unmap(self.start.cast(), self.len) };
    }
}

/// Memory of Unix.
#[cfg(unix)]
mod system {
    use std::ffi::{c_int, c_void};

    extern "C" {
        fn mmap(
            start: *mut c_void,
            len: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        fn munmap(start: *mut c_void, len: usize) -> c_int;
    }

    const READ: c_int = 1;
    const WRITE: c_int = 2;
    const EXECUTE: c_int = 4;
    const PRIVATE: c_int = 2;
    /// Not backed by a file.
    const ANONYMOUS: c_int = if cfg!(target_os = "linux") { 0x20 } else { 0x1000 };
    /// Memory that Apple's processors let a thread either write or run.
    const SWITCHED: c_int = 0x800;
    /// Whether memory is such.
    const SWITCHES: bool = cfg!(all(target_os = "macos", target_arch = "aarch64"));

    /// New memory; it is executable from the start only where a thread cannot both write and run it.
    pub fn map(len: usize) -> Option<*mut c_void> {
        let (protection, flags) = if SWITCHES { (EXECUTE, SWITCHED) } else { (0, 0) };
        let (protection, flags) = (protection | READ | WRITE, flags | PRIVATE | ANONYMOUS);
        // SAFETY: asks for new memory.
        let start = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        (start as isize != -1).then_some(start)
    }

    /// Writes code, and makes it executable; whether the system allows that.
    ///
    /// # Safety
    /// The memory is from [`map`], of this length, which is that of the code at least.
    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    pub unsafe fn fill(start: *mut u8, code: &[u8], _len: usize) -> bool {
        extern "C" {
            fn pthread_jit_write_protect_np(enabled: c_int);
            fn sys_icache_invalidate(start: *mut c_void, len: usize);
        }
        // SAFETY: by the caller; this thread runs no code of such memory until it is protected again.
        unsafe {
            pthread_jit_write_protect_np(0);
            start.copy_from_nonoverlapping(code.as_ptr(), code.len());
            pthread_jit_write_protect_np(1);
            sys_icache_invalidate(start.cast(), code.len());
        }
        true
    }

    /// Writes code, and makes it executable; whether the system allows that.
    ///
    /// # Safety
    /// The memory is from [`map`], of this length, which is that of the code at least.
    #[cfg(not(all(target_os = "macos", target_arch = "aarch64")))]
    pub unsafe fn fill(start: *mut u8, code: &[u8], len: usize) -> bool {
        extern "C" {
            fn mprotect(start: *mut c_void, len: usize, protection: c_int) -> c_int;
        }
        // SAFETY: by the caller.
        unsafe {
            start.copy_from_nonoverlapping(code.as_ptr(), code.len());
            #[cfg(target_arch = "aarch64")]
            publish(start, code.len());
            mprotect(start.cast(), len, READ | EXECUTE) == 0
        }
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It is from [`map`], of this length, and nobody runs its code.
    pub unsafe fn unmap(start: *mut c_void, len: usize) {
        // SAFETY: by the caller.
        unsafe { munmap(start, len) };
    }

    /// Has all processors see code that was written: their caches of instructions do not follow those of data (Arm
    /// Architecture Reference Manual, B2.4.4).
    ///
    /// # Safety
    /// The memory can be read.
    #[cfg(all(target_arch = "aarch64", unix, not(target_os = "macos")))]
    unsafe fn publish(start: *const u8, len: usize) {
        use std::arch::asm;
        let (start, kinds): (usize, usize) = (start as usize, {
            let kinds;
            // SAFETY: reads a register with the sizes of lines.
            unsafe { asm!("mrs {}, ctr_el0", out(reg) kinds, options(nomem, nostack, preserves_flags)) };
            kinds
        });
        let lines = |log: usize| {
            let line = 4usize << (kinds >> log & 15);
            (start / line * line..start + len).step_by(line)
        };
        for line in lines(16) {
            // SAFETY: by the caller.
            unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
        }
        // SAFETY: a barrier.
        unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
        for line in lines(0) {
            // SAFETY: by the caller.
            unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
        }
        // SAFETY: barriers.
        unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
        #[cfg(target_os = "linux")]
        refetch();
    }

    /// Has the other threads fetch anew what they may have fetched where code lies now. The kernel may not know how:
    /// then the change of protection has it do that, as it does in practice.
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    fn refetch() {
        use std::ffi::{c_int, c_long};
        extern "C" {
            fn syscall(number: c_long, ...) -> c_long;
        }
        const MEMBARRIER: c_long = 283;
        const REGISTER_SYNC_CORE: c_int = 1 << 6;
        const SYNC_CORE: c_int = 1 << 5;
        // SAFETY: they are barriers, which change nothing.
        unsafe {
            syscall(MEMBARRIER, REGISTER_SYNC_CORE, 0 as c_int, 0 as c_int);
            syscall(MEMBARRIER, SYNC_CORE, 0 as c_int, 0 as c_int);
        }
    }
}

/// Memory of Windows.
#[cfg(windows)]
mod system {
    use std::ffi::c_void;

    #[link(name = "kernel32")]
    extern "system" {
        fn VirtualAlloc(start: *mut c_void, len: usize, kind: u32, protection: u32) -> *mut c_void;
        fn VirtualProtect(start: *mut c_void, len: usize, protection: u32, before: *mut u32) -> i32;
        fn VirtualFree(start: *mut c_void, len: usize, kind: u32) -> i32;
        fn GetCurrentProcess() -> *mut c_void;
        fn FlushInstructionCache(process: *mut c_void, start: *const c_void, len: usize) -> i32;
    }

    const COMMIT_AND_RESERVE: u32 = 0x3000;
    const RELEASE: u32 = 0x8000;
    const READ_WRITE: u32 = 0x04;
    const EXECUTE_READ: u32 = 0x20;

    /// New memory.
    pub fn map(len: usize) -> Option<*mut c_void> {
        // SAFETY: asks for new memory.
        let start = unsafe { VirtualAlloc(std::ptr::null_mut(), len, COMMIT_AND_RESERVE, READ_WRITE) };
        (!start.is_null()).then_some(start)
    }

    /// Writes code, and makes it executable; whether the system allows that.
    ///
    /// # Safety
    /// The memory is from [`map`], of this length, which is that of the code at least.
    pub unsafe fn fill(start: *mut u8, code: &[u8], len: usize) -> bool {
        let mut before = 0;
        // SAFETY: by the caller.
        unsafe {
            start.copy_from_nonoverlapping(code.as_ptr(), code.len());
            VirtualProtect(start.cast(), len, EXECUTE_READ, &mut before) != 0
                && FlushInstructionCache(GetCurrentProcess(), start.cast(), len) != 0
        }
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It is from [`map`], and nobody runs its code.
    pub unsafe fn unmap(start: *mut c_void, _len: usize) {
        // SAFETY: by the caller.
        unsafe { VirtualFree(start, 0, RELEASE) };
    }
}

/// Elsewhere there is none.
#[cfg(not(any(unix, windows)))]
mod system {
    use std::ffi::c_void;

    pub fn map(_len: usize) -> Option<*mut c_void> {
        None
    }

    pub unsafe fn fill(_start: *mut u8, _code: &[u8], _len: usize) -> bool {
        false
    }

    pub unsafe fn unmap(_start: *mut c_void, _len: usize) {}
}

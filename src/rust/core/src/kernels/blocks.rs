//! Memory for large results, which is used again.
//!
//! Pages that a process has not touched before cost up to ten times what is computed in them, so a block that is given back
//! is kept for the next result of about its size, within a share of the machine's memory. Sizes are in classes that waste at
//! most an eighth. Blocks begin at a cache line; large ones at a huge page, and the system is asked to use such pages.

use std::alloc::{alloc, dealloc, Layout};
use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where blocks begin.
const LINE: usize = 64;

/// Where blocks begin that are at least so long.
const HUGE: usize = 2 << 20;

/// Of the machine's memory, the part that may be kept in blocks that nobody uses: one in so many.
const SHARE: usize = 8;

/// Blocks that come back before one that nobody took is given to the system.
const PATIENCE: u64 = 4096;

/// Memory of a machine that does not say how much it has.
const UNKNOWN: usize = 4 << 30;

/// Bytes that nothing else refers to, not initialised, or with the content of a former use. Given back when dropped.
#[derive(Debug)]
pub struct Block {
    start: *mut u8,
    /// Of the class, not what was asked for.
    size: usize,
}

// SAFETY: the block owns its bytes.
unsafe impl Send for Block {}

impl Block {
    /// A block of at least `len` bytes; `None` if there is no such memory.
    pub fn new(len: usize) -> Option<Block> {
        let size = class(len)?;
        with_store(|store| store.take(size)).or_else(|| Block::fresh(size))
    }

    fn fresh(size: usize) -> Option<Block> {
        // The system may promise more than there is.
        if size > memory() {
            return None;
        }
        // SAFETY: the layout is of a size above 0, by `class`.
        let start = unsafe { alloc(layout(size)) };
        if start.is_null() {
            return None;
        }
        advise(start, size);
        Some(Block { start, size })
    }

    /// Where it begins.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    /// Number of bytes, at least as many as were asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    fn free(self) {
        let block = std::mem::ManuallyDrop::new(self);
        // SAFETY: from `alloc` with this layout, and not used after.
        unsafe { dealloc(block.start, layout(block.size)) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let block = Block { start: self.start, size: self.size };
        let rest = with_store(|store| store.put(block, memory() / SHARE));
        rest.into_iter().for_each(Block::free);
    }
}

fn layout(size: usize) -> Layout {
    let align = if size < HUGE { LINE } else { HUGE };
    Layout::from_size_align(size, align).expect("classes are checked")
}

/// The size of blocks for so many bytes: the next with at most three more binary digits than the first. `None` if there is
/// none that can be addressed.
fn class(len: usize) -> Option<usize> {
    let len = len.max(LINE);
    let unit = (1usize << (usize::BITS - 1 - len.leading_zeros() - 3)).max(LINE);
    len.checked_next_multiple_of(unit).filter(|&size| size <= isize::MAX as usize - HUGE)
}

/// Asks for huge pages where whole ones lie in these bytes, which were just allocated.
#[cfg(target_os = "linux")]
pub(super) fn advise(start: *mut u8, size: usize) {
    use std::ffi::{c_int, c_void};
    extern "C" {
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    let first = start.wrapping_add(start.align_offset(HUGE));
    let end = (start as usize + size) / HUGE * HUGE;
    if end > first as usize {
        // SAFETY: whole pages of memory of the caller's; the advice changes no byte. That it is not taken, where there are no
        // huge pages, is no error.
        unsafe { madvise(first.cast(), end - first as usize, MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn advise(_start: *mut u8, _size: usize) {}

/// Bytes of memory that this process may use: of the machine, or of its control group.
fn memory() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let machine = read("/proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
        });
        // Of version 2, and of version 1. One without a limit says `max`, or a number beyond all memory.
        let groups = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let limits = groups.iter().filter_map(|path| read(path)?.trim().parse::<usize>().ok());
        limits.filter(|&n| n > 0).chain(machine).min().unwrap_or(UNKNOWN)
    })
}

/// Blocks that nobody uses, the one that was given back last at the end.
#[derive(Default)]
struct Store {
    blocks: VecDeque<(Block, u64)>,
    bytes: usize,
    /// Counts blocks that came back.
    age: u64,
}

static STORE: Mutex<Store> = Mutex::new(Store { blocks: VecDeque::new(), bytes: 0, age: 0 });

fn with_store<T>(f: impl FnOnce(&mut Store) -> T) -> T {
    f(&mut STORE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Store {
    /// The block of a size that was given back last.
    fn take(&mut self, size: usize) -> Option<Block> {
        let at = self.blocks.iter().rposition(|(block, _)| block.size == size)?;
        self.bytes -= size;
        self.blocks.remove(at).map(|(block, _)| block)
    }

    /// Keeps a block. Returns those that are too much then, or the block itself.
    fn put(&mut self, block: Block, limit: usize) -> Vec<Block> {
        if block.size > limit {
            return vec![block];
        }
        self.bytes += block.size;
        self.age += 1;
        self.blocks.push_back((block, self.age));
        let is_old = |store: &Store| store.blocks.front().is_some_and(|(_, age)| age + PATIENCE <= store.age);
        self.drop_while(|store| store.bytes > limit || is_old(store))
    }

    /// Removes blocks from the front.
    fn drop_while(&mut self, condition: impl Fn(&Store) -> bool) -> Vec<Block> {
        let mut out = Vec::new();
        while condition(self) {
            let Some((block, _)) = self.blocks.pop_front() else { break };
            self.bytes -= block.size;
            out.push(block);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(size: usize) -> Block {
        Block::fresh(class(size).unwrap()).unwrap()
    }

    #[test]
    fn classes_waste_an_eighth_at_most() {
        let mut last = 0;
        for len in (1..5000).map(|i| i * i * i) {
            let size = class(len).unwrap();
            assert!(size >= len && size >= last && size % LINE == 0, "{len}: {size}");
            assert!(len < 8 * LINE || size - len <= len / 8, "{len}: {size}");
            assert_eq!(class(size), Some(size));
            last = size;
        }
        assert_eq!(class(usize::MAX), None);
        assert_eq!(class(isize::MAX as usize), None);
    }

    #[test]
    fn a_block_is_aligned_and_can_be_written() {
        for len in [1, 1000, 1 << 20, HUGE, HUGE + 1, 5 << 20] {
            let block = Block::new(len).unwrap();
            let align = if len < HUGE { LINE } else { HUGE };
            assert_eq!(block.as_ptr() as usize % align, 0);
            // SAFETY: the block has as many bytes.
            unsafe { block.as_ptr().write_bytes(7, block.size()) };
        }
    }

    #[test]
    fn what_was_given_back_is_taken_again_within_the_limit() {
        let mut store = Store::default();
        let (a, b) = (block(1000), block(2000));
        let places = [a.as_ptr(), b.as_ptr()];
        let sizes = [a.size, b.size];
        assert!(store.put(a, 1 << 20).is_empty() && store.put(b, 1 << 20).is_empty());
        assert_eq!(store.bytes, sizes[0] + sizes[1]);
        let again = store.take(sizes[0]).unwrap();
        assert_eq!((again.as_ptr(), store.take(sizes[0]).is_none()), (places[0], true));
        // The one that has been there longest goes.
        let gone = store.put(again, sizes[0]);
        assert_eq!(gone.iter().map(Block::as_ptr).collect::<Vec<_>>(), [places[1]]);
        let own = store.put(block(4000), sizes[0]);
        assert_eq!((own.len(), store.blocks.len(), store.bytes), (1, 1, sizes[0]));
        gone.into_iter().chain(own).for_each(Block::free);
    }

    #[test]
    fn blocks_that_nobody_uses_go_after_a_while() {
        let mut store = Store::default();
        store.put(block(1000), usize::MAX);
        for _ in 1..PATIENCE {
            assert!(store.put(block(100), usize::MAX).is_empty());
            store.take(class(100).unwrap()).unwrap().free();
        }
        let old = store.put(block(100), usize::MAX);
        assert_eq!((old.len(), old[0].size), (1, class(1000).unwrap()));
        old.into_iter().for_each(Block::free);
        store.drop_while(|_| true).into_iter().for_each(Block::free);
        assert_eq!((store.blocks.len(), store.bytes), (0, 0));
    }

    #[test]
    fn more_than_the_machine_has_is_refused() {
        assert!(Block::new(1 << 50).is_none());
    }
}

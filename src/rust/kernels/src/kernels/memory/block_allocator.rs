//! A recycling allocator of memory blocks for large results.
//!
//! Fresh pages cost many times the computation in them, so freed blocks are kept for later results of any
//! size. Blocks are cut from large chunks, first fit by address, and free neighbours are merged. Free memory
//! is limited to a share of the machine's. Blocks are aligned to cache lines; the system is asked to back
//! chunks by huge pages.

use super::cache::LINE;
use std::alloc::{alloc, dealloc, Layout};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Alignment of chunks: a huge page.
const HUGE: usize = 2 << 20;

/// Bytes of a chunk, unless one block needs more. Only touched pages take memory.
const CHUNK: usize = 128 << 20;

/// One of so many bytes of the machine's memory may be in free blocks.
const SHARE: usize = 8;

/// Time without a new block after which a chunk's free pages are returned to the system, when the next block
/// is freed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Memory that is assumed if the system does not tell.
const UNKNOWN: usize = 4 << 30;

/// A memory block, not initialised or with the content of a former use. Dropping it returns it to the
/// allocator.
#[derive(Debug)]
pub struct Block {
    start: *mut u8,
    /// A whole number of lines.
    size: usize,
}

// SAFETY: the block owns its bytes.
unsafe impl Send for Block {}

impl Block {
    /// A block of at least `len` bytes; `None` if it cannot be allocated.
    pub fn new(len: usize) -> Option<Block> {
        let size = len.max(1).checked_next_multiple_of(LINE)?;
        with_store(|store| store.take(size).or_else(|| store.take_new(size)))
    }

    /// Its address.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    /// Number of bytes, at least as many as requested.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        with_store(|store| store.put(self.start, self.size, memory() / SHARE, Instant::now()));
    }
}

/// Asks the system for huge pages in these bytes, which were just allocated.
pub(super) fn advise(start: *mut u8, size: usize) {
    const MADV_HUGEPAGE: i32 = 14;
    // SAFETY: the advice changes no byte.
    unsafe { tell(start, size, MADV_HUGEPAGE) };
}

/// Returns the whole huge pages in these bytes to the system, which maps new ones when they are touched.
///
/// # Safety
/// The bytes are not read before they are written.
unsafe fn give(start: *mut u8, size: usize) {
    const MADV_DONTNEED: i32 = 4;
    // SAFETY: by the caller.
    unsafe { tell(start, size, MADV_DONTNEED) };
}

/// Advises the system about the whole huge pages in these bytes. A failure is ignored.
///
/// # Safety
/// They are the caller's, and so is what the advice does.
#[cfg(target_os = "linux")]
unsafe fn tell(start: *mut u8, size: usize, advice: i32) {
    use std::ffi::{c_int, c_void};
    extern "C" {
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    let first = start.wrapping_add(start.align_offset(HUGE));
    let end = (start as usize + size) / HUGE * HUGE;
    if end > first as usize {
        // SAFETY: by the caller.
        unsafe { madvise(first.cast(), end - first as usize, advice) };
    }
}

#[cfg(not(target_os = "linux"))]
unsafe fn tell(_start: *mut u8, _size: usize, _advice: i32) {}

/// Bytes of memory that this process may use: of the machine, or of its control group.
pub fn memory() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let machine = read("/proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
        });
        // Control groups of version 2 and 1. Without a limit the file has `max`, or a number beyond all
        // memory.
        let groups = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let limits = groups.iter().filter_map(|path| read(path)?.trim().parse::<usize>().ok());
        limits.filter(|&n| n > 0).chain(machine).min().unwrap_or(UNKNOWN)
    })
}

/// Memory in bytes, for reports.
pub struct Usage {
    /// What this process may use.
    pub limit: usize,
    /// What was taken from the system for blocks.
    pub taken: usize,
    /// What blocks hold of it.
    pub held: usize,
}

/// The memory of all blocks.
pub fn usage() -> Usage {
    with_store(|store| {
        let taken = store.chunks.iter().map(|chunk| chunk.size).sum::<usize>();
        let free = store.chunks.iter().flat_map(|chunk| chunk.free.values()).sum::<usize>();
        Usage { limit: memory(), taken, held: taken - free }
    })
}

/// Memory that blocks are cut from.
struct Chunk {
    start: *mut u8,
    size: usize,
    /// Free ranges by their offset, with their size; no two of them are adjacent.
    free: BTreeMap<usize, usize>,
    /// Time of the last allocation from it.
    used: Instant,
}

// SAFETY: the chunk owns its bytes, but for those of the blocks that were cut from it.
unsafe impl Send for Chunk {}

impl Chunk {
    fn new(size: usize) -> Option<Chunk> {
        // SAFETY: the layout is of a size above 0.
        let start = unsafe { alloc(layout(size)?) };
        if start.is_null() {
            return None;
        }
        advise(start, size);
        Some(Chunk { start, size, free: BTreeMap::from([(0, size)]), used: Instant::now() })
    }

    /// A block at the lowest address where it fits.
    fn take(&mut self, size: usize) -> Option<Block> {
        let (&at, &len) = self.free.iter().find(|(_, &len)| len >= size)?;
        self.free.remove(&at);
        if len > size {
            self.free.insert(at + size, len - size);
        }
        Some(Block { start: self.start.wrapping_add(at), size })
    }

    fn put(&mut self, start: *mut u8, size: usize) {
        let (mut at, mut len) = (start as usize - self.start as usize, size);
        if let Some((&before, &n)) = self.free.range(..at).next_back() {
            if before + n == at {
                (at, len) = (before, n + len);
            }
        }
        if let Some(n) = self.free.remove(&(start as usize - self.start as usize + size)) {
            len += n;
        }
        self.free.insert(at, len);
    }

    fn holds(&self, start: *mut u8) -> bool {
        (self.start as usize..self.start as usize + self.size).contains(&(start as usize))
    }

    fn is_free(&self) -> bool {
        self.free.get(&0) == Some(&self.size)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        assert!(self.is_free(), "a chunk goes with its blocks");
        let layout = layout(self.size).expect("as it was allocated");
        // SAFETY: from `alloc` with this layout; no block is left that was cut from it.
        unsafe { dealloc(self.start, layout) };
    }
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, HUGE).ok()
}

/// All chunks, the oldest first.
#[derive(Default)]
struct Store {
    chunks: Vec<Chunk>,
    /// Bytes freed since pages were last returned to the system.
    kept: usize,
}

static STORE: Mutex<Store> = Mutex::new(Store { chunks: Vec::new(), kept: 0 });

fn with_store<T>(f: impl FnOnce(&mut Store) -> T) -> T {
    f(&mut STORE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Store {
    /// A block from an existing chunk.
    fn take(&mut self, size: usize) -> Option<Block> {
        let (chunk, block) =
            self.chunks.iter_mut().find_map(|chunk| chunk.take(size).map(|block| (chunk, block)))?;
        chunk.used = Instant::now();
        self.kept = self.kept.saturating_sub(size);
        Some(block)
    }

    /// A block from a new chunk.
    fn take_new(&mut self, size: usize) -> Option<Block> {
        // The system may overcommit.
        if size > memory() {
            return None;
        }
        let chunk = Chunk::new(size.next_multiple_of(HUGE).max(CHUNK))
            .or_else(|| Chunk::new(size.next_multiple_of(HUGE)))?;
        self.chunks.push(chunk);
        self.take(size)
    }

    /// Frees a block. If more than `limit` bytes are free then, all free pages are returned to the system.
    fn put(&mut self, start: *mut u8, size: usize, limit: usize, now: Instant) {
        let Some(chunk) = self.chunks.iter_mut().find(|chunk| chunk.holds(start)) else { return };
        chunk.put(start, size);
        self.kept += size;
        let full = self.kept > limit;
        self.chunks.retain(|chunk| !chunk.is_free() || !(full || chunk.used + PATIENCE <= now));
        if full {
            self.kept = 0;
            for chunk in &self.chunks {
                for (&at, &len) in &chunk.free {
                    // SAFETY: nobody has these bytes, and those who get them know nothing of what was in
                    // them.
                    unsafe { give(chunk.start.wrapping_add(at), len) };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store of its own, whose blocks are put back by hand.
    fn take(store: &mut Store, size: usize) -> (*mut u8, usize) {
        let block = store.take(size).or_else(|| store.take_new(size)).unwrap();
        let block = std::mem::ManuallyDrop::new(block);
        (block.start, block.size)
    }

    #[test]
    fn a_block_is_aligned_and_can_be_written() {
        for len in [0, 1, 1000, 1 << 20, HUGE, HUGE + 1, 5 << 20, CHUNK + 1] {
            let block = Block::new(len).unwrap();
            assert!(block.as_ptr() as usize % LINE == 0 && block.size() >= len);
            // SAFETY: the block has as many bytes.
            unsafe { block.as_ptr().write_bytes(7, block.size().min(5 << 20)) };
        }
    }

    #[test]
    fn memory_is_used_again_from_the_lowest_place_for_any_size() {
        let mut store = Store::default();
        let blocks = [1000, 2000, 3000].map(|size| take(&mut store, size * LINE));
        let starts = blocks.map(|(start, _)| start as usize);
        assert_eq!([starts[1] - starts[0], starts[2] - starts[1]], [1000 * LINE, 2000 * LINE]);
        store.put(blocks[0].0, blocks[0].1, usize::MAX, Instant::now());
        store.put(blocks[1].0, blocks[1].1, usize::MAX, Instant::now());
        // Both places are one now.
        let large = take(&mut store, 2500 * LINE);
        assert_eq!(large.0 as usize, starts[0]);
        let small = take(&mut store, 500 * LINE);
        assert_eq!(small.0 as usize, starts[0] + 2500 * LINE);
        for (start, size) in [small, blocks[2], large] {
            store.put(start, size, usize::MAX, Instant::now());
        }
        assert!(store.chunks.len() == 1 && store.chunks[0].is_free());
    }

    #[test]
    fn blocks_do_not_overlap_whatever_comes_and_goes() {
        let mut store = Store::default();
        let (mut held, mut state) = (Vec::<(*mut u8, usize)>::new(), 1u64);
        for _ in 0..5000 {
            // An ordinary generator of numbers: the constants are Knuth's (TAOCP, volume 2, 3.3.4, line 26).
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let n = (state >> 33) as usize;
            if held.len() > 40 || (n % 3 == 0 && !held.is_empty()) {
                let (start, size) = held.swap_remove(n % held.len());
                store.put(start, size, usize::MAX, Instant::now());
            } else {
                let new = take(&mut store, (n % 100_000 + 1) * LINE);
                let (start, end) = (new.0 as usize, new.0 as usize + new.1);
                assert!(held
                    .iter()
                    .all(|&(other, size)| end <= other as usize || other as usize + size <= start));
                held.push(new);
            }
        }
        held.into_iter().for_each(|(start, size)| store.put(start, size, usize::MAX, Instant::now()));
        assert!(store.chunks.iter().all(Chunk::is_free));
    }

    #[test]
    fn beyond_the_limit_free_memory_is_given_back() {
        let mut store = Store::default();
        let (a, b) = (take(&mut store, CHUNK), take(&mut store, 1000 * LINE));
        assert_eq!(store.chunks.len(), 2);
        store.put(a.0, a.1, CHUNK, Instant::now());
        assert_eq!((store.chunks.len(), store.kept), (2, CHUNK));
        store.put(b.0, b.1, CHUNK, Instant::now());
        assert_eq!((store.chunks.len(), store.kept), (0, 0));
        // Pages between blocks that are used come back as they were not.
        let blocks = [HUGE, 2 * HUGE, LINE].map(|size| take(&mut store, size));
        // SAFETY: it has as many bytes, and they are written before they are read.
        let first = unsafe {
            blocks[1].0.write_bytes(7, blocks[1].1);
            store.put(blocks[1].0, blocks[1].1, 0, Instant::now());
            *blocks[1].0
        };
        assert_eq!(first, if cfg!(target_os = "linux") { 0 } else { 7 });
        store.put(blocks[0].0, blocks[0].1, usize::MAX, Instant::now());
        store.put(blocks[2].0, blocks[2].1, usize::MAX, Instant::now());
    }

    #[test]
    fn chunks_that_nobody_uses_go_after_a_while() {
        let mut store = Store::default();
        let (a, b) = (take(&mut store, CHUNK / 2), take(&mut store, CHUNK));
        store.put(b.0, b.1, usize::MAX, Instant::now());
        let another = |store: &mut Store, now: Instant| {
            let (start, size) = take(store, LINE);
            store.put(start, size, usize::MAX, now);
        };
        another(&mut store, Instant::now());
        assert_eq!(store.chunks.len(), 2);
        another(&mut store, Instant::now() + PATIENCE);
        assert_eq!(store.chunks.len(), 1);
        store.put(a.0, a.1, usize::MAX, Instant::now());
    }

    #[test]
    fn more_than_the_machine_has_is_refused() {
        assert!(Block::new(1 << 50).is_none() && Block::new(usize::MAX).is_none());
    }
}

//! The split of a program's elements into tiles.

use std::ops::Range;

/// The split of a program's elements into tiles. A tile lies in one segment, or has
/// whole ones: a reduction folds segments, and its tiles are those that it has when it stands alone.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Number of elements.
    pub len: usize,
    /// Elements of a segment.
    pub segment: usize,
    /// Elements of a tile, at most.
    pub tile: usize,
    /// Elements of which a fold leaves a partial result, if a segment is many tiles: a tile has some of them.
    pub partial: usize,
}

impl Cut {
    /// Tiles of a segment; 1 if a tile holds whole ones.
    pub fn tiles_per_segment(&self) -> usize {
        self.segment.div_ceil(self.tile)
    }

    /// Partial results of a fold of a segment; 1 if a tile holds whole ones.
    pub fn partials_per_segment(&self) -> usize {
        if self.tiles_per_segment() > 1 {
            self.segment.div_ceil(self.partial)
        } else {
            1
        }
    }

    /// Partial results of a fold of all segments that are many tiles.
    pub(super) fn partials(&self) -> usize {
        self.len / self.segment * self.partials_per_segment()
    }

    /// The partial results of some elements of a segment that is many tiles: those of a tile.
    pub(super) fn partials_of(&self, elements: &Range<usize>) -> Range<usize> {
        let first = elements.start / self.segment * self.partials_per_segment()
            + elements.start % self.segment / self.partial;
        first..first + elements.len().div_ceil(self.partial)
    }

    /// Segments of a tile, at least 1.
    pub(super) fn segments(&self) -> usize {
        (self.tile / self.segment).max(1)
    }

    /// Number of tiles.
    pub fn tiles(&self) -> usize {
        let segments = self.len / self.segment;
        if self.tiles_per_segment() > 1 {
            segments * self.tiles_per_segment()
        } else {
            segments.div_ceil(self.segments())
        }
    }

    /// The number of the tile that begins with this element, if a segment is many tiles.
    pub(super) fn number(&self, start: usize) -> usize {
        start / self.segment * self.tiles_per_segment() + start % self.segment / self.tile
    }

    /// Elements of a register that holds a constant.
    pub fn constant(&self) -> usize {
        self.longest().min(CONSTANT)
    }

    /// Segments of the longest tile; one if a segment is many tiles.
    pub(super) fn folded(&self) -> usize {
        (self.longest() / self.segment).max(1)
    }

    /// Elements of the longest tile.
    pub fn longest(&self) -> usize {
        if self.tiles_per_segment() > 1 {
            self.tile
        } else {
            (self.segments() * self.segment).min(self.len)
        }
    }

    /// The elements of a tile.
    pub(super) fn range(&self, tile: usize) -> Range<usize> {
        if self.tiles_per_segment() > 1 {
            let (segment, within) = (tile / self.tiles_per_segment(), tile % self.tiles_per_segment());
            let start = segment * self.segment + within * self.tile;
            return start..(start + self.tile).min((segment + 1) * self.segment);
        }
        let step = self.segments() * self.segment;
        tile * step..((tile + 1) * step).min(self.len)
    }
}

/// Elements of a register that holds a constant, at most: a kernel that reads one runs on chunks of a tile of
/// this length, so that constants take little of the cache.
pub const CONSTANT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_all_elements_once_and_keep_to_segments() {
        for (len, segment) in
            [(10, 10), (10, 5), (12, 3), (1, 1), (100, 20), (21, 7), (16, 4), (64, 64), (45, 9)]
        {
            for partial in [8, 4, 2] {
                covers(&Cut { len, segment, tile: 8, partial });
            }
        }
    }

    fn covers(cut: &Cut) {
        let &Cut { len, segment, partial, .. } = cut;
        let (mut next, mut next_partial) = (0, 0);
        for tile in 0..cut.tiles() {
            let range = cut.range(tile);
            assert!(
                range.start == next && range.len() <= cut.longest() && !range.is_empty(),
                "{cut:?} {tile}"
            );
            let whole = range.start % segment == 0 && range.end % segment == 0;
            assert!(
                whole || (range.start / segment == (range.end - 1) / segment && cut.tiles_per_segment() > 1)
            );
            // As in the reduction that stands alone.
            assert!(cut.tiles_per_segment() == 1 || range.start % segment % partial == 0);
            if cut.tiles_per_segment() > 1 {
                let partials = cut.partials_of(&range);
                assert_eq!(partials.start, next_partial);
                next_partial = partials.end;
            }
            assert!(cut.tiles_per_segment() == 1 || cut.number(range.start) == tile);
            next = range.end;
        }
        assert_eq!(next, len);
        assert!(cut.tiles_per_segment() == 1 || next_partial == cut.partials());
    }
}

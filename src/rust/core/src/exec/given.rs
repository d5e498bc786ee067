//! The inputs of a program that may be overwritten.

/// The inputs whose memory outputs may take over.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// Those with these numbers are donated; outputs leave the engine.
    Donated(&'a [usize]),
    /// So many, the first, are carried by a loop: each is followed by the output of its number. Outputs stay
    /// in the engine.
    Carried(usize),
    /// None: it is an iteration of a loop without a state. Outputs stay in the engine, and loops in it are not shared
    /// between threads.
    Iteration,
}

impl Given<'_> {
    /// Whether the memory of an input may be that of this output.
    pub fn fits(self, input: usize, output: usize) -> bool {
        match self {
            Given::Donated(inputs) => inputs.contains(&input),
            Given::Carried(count) => input < count && output == input,
            Given::Iteration => false,
        }
    }

    /// Whether an input may be overwritten by an output.
    pub fn overwrites(self, input: usize) -> bool {
        self.fits(input, input)
    }

    /// Whether an input may be overwritten after its last read, whatever becomes of it: one that a loop carries is
    /// in one of two buffers, unless the body updates it.
    pub fn is_spent(self, input: usize) -> bool {
        matches!(self, Given::Carried(count) if input < count)
    }
}

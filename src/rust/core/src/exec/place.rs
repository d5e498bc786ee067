//! Places: where values are in memory while a program runs.

use crate::kernels::memory::Span;
use crate::tensor::Layout;

/// The place of a value: its bytes, and the layout of its elements.
#[derive(Clone, Debug)]
pub struct Place {
    /// The bytes, in one of the program's buffers.
    pub span: Span,
    /// Layout of the elements within the span.
    pub layout: Layout,
}

/// Number of the arena's buffer.
pub const ARENA: usize = 0;
/// Number of the buffer of literals.
pub const LITERALS: usize = 1;
/// Number of the first input's buffer; then come the other inputs, the constants, the outputs.
pub const INPUTS: usize = 2;

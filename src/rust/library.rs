//! The static library that R's linker takes: the entry points of `anvil-r`, and what they need.

pub use anvil_r as r;

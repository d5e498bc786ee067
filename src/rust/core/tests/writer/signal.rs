//! Parameters of transforms, convolutions and folds of windows.

use super::Writer;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};

/// Whether an op is one of these.
pub fn has(name: &str) -> bool {
    ["fft", "ifft", "rfft", "irfft", "convolve", "reduce_window", "conv"].contains(&name)
}

impl Writer {
    /// Operands and parameters of such an op.
    pub(super) fn signal(&mut self, name: &str, x: Value, attrs: Attrs) -> (Vec<Value>, Attrs) {
        let rank = self.shape(x).rank();
        match name {
            "fft" | "ifft" | "rfft" | "irfft" => {
                let axis = Attr::Numbers(vec![1.0 + self.rng.below(rank.max(1)) as f64]);
                (vec![x], attrs.with("axis", axis).with("n", Attr::Null))
            }
            "convolve" => {
                let types = ["full", "same", "valid", "open", "filter", "circular"];
                let kind = Attr::Text(self.rng.choose(&types).to_string());
                (vec![x, self.like(x)], attrs.with("type", kind))
            }
            "reduce_window" => {
                let mut some = |most: usize| {
                    Attr::Numbers((0..rank).map(|_| 1.0 + self.rng.below(most) as f64).collect())
                };
                let attrs = attrs.with("size", some(3)).with("stride", some(2)).with("dilation", some(2));
                let padding = Attr::Text(self.rng.choose(&["same", "valid"]).to_string());
                let fold = Attr::Text(self.rng.choose(&["sum", "prod", "max", "min"]).to_string());
                (vec![x], attrs.with("padding", padding).with("fold", fold))
            }
            "conv" => {
                let axes = rank.max(3) - 2;
                let mut sizes = vec![1; rank.max(3)];
                sizes[..axes].iter_mut().for_each(|n| *n = 1 + self.rng.below(3));
                sizes[axes] = self.shape(x).last().copied().unwrap_or(1);
                sizes[axes + 1] = 1 + self.rng.below(2);
                let kernel = self.of_dtype(x, sizes);
                let number = |n: usize| Attr::Numbers(vec![n as f64]);
                let attrs = attrs.with("stride", number(1 + self.rng.below(2)));
                let attrs = attrs.with("dilation", number(1 + self.rng.below(2)));
                let attrs = attrs.with("operand_dilation", number(1)).with("groups", number(1));
                let padding = Attr::Text(self.rng.choose(&["same", "valid"]).to_string());
                (vec![x, kernel], attrs.with("padding", padding))
            }
            _ => (vec![x], attrs),
        }
    }
}

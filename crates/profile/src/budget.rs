//! How much memory a recording may take while it is read. A small file must not fill the machine, whatever it contains;
//! a large one may take more. Tables count what they take, roughly and rather too much. A reader asks whether there is
//! memory left, keeps what came before, and reports what was left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What every input may take.
const FREE_BYTES: u64 = 336 << 20;
/// What it may take for each of its bytes on the disk.
const FOR_EACH_BYTE: u64 = 4;

/// The memory of one recording. The default one has no end.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// The bytes of the input so far, before any compression; `None` for memory without end.
    input: Option<Arc<AtomicU64>>,
    used: Arc<AtomicU64>,
}

impl Budget {
    /// For an input whose bytes are counted there.
    pub fn for_input(bytes: Arc<AtomicU64>) -> Self {
        Self { input: Some(bytes), used: Arc::default() }
    }

    /// Counts memory that was taken.
    pub fn take(&self, bytes: usize) {
        if self.input.is_some() {
            self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Whether nothing more should be kept.
    pub fn is_full(&self) -> bool {
        self.left() == 0
    }

    /// What may still be taken.
    pub fn left(&self) -> u64 {
        self.most().saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// What may be taken in all, for the input so far.
    pub fn most(&self) -> u64 {
        self.input.as_ref().map_or(u64::MAX, |input| {
            FREE_BYTES.saturating_add(input.load(Ordering::Relaxed).saturating_mul(FOR_EACH_BYTE))
        })
    }

    /// What to report when it is full, without a full stop.
    pub fn sentence(&self) -> String {
        format!(
            "what came before fills {} MB of memory, and the rest was left out",
            self.most() >> 20
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_input_may_take_more() {
        let input = Arc::new(AtomicU64::new(0));
        let budget = Budget::for_input(Arc::clone(&input));
        budget.clone().take(336 << 20);
        assert!(budget.is_full() && budget.sentence().contains("fills 336 MB"));
        input.store(1 << 20, Ordering::Relaxed);
        assert_eq!(budget.left(), 4 << 20);
        let endless = Budget::default();
        endless.take(usize::MAX);
        assert!(!endless.is_full());
    }
}

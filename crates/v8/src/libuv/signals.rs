//! The listeners for signals: libuv keeps those of all loops in one tree, ordered by signal, whose root is a variable
//! of its own.

use super::{number, word};
use crate::{Fault, Memory};

/// The root of the tree, local to libuv. A compiler may write `.0` behind it.
const ROOT: &[u8] = b"uv__signal_tree";

// A uv_signal_t of libuv 1.x, on machines of 64 bits (seen on 1.44 to 1.52, Node 18 to 26).
const TYPE: usize = 16;
const SIGNAL: usize = 104;
const LEFT: usize = 112;
const RIGHT: usize = 120;
const SIZE: usize = 128;

/// `UV_SIGNAL` among the kinds of handles.
const UV_SIGNAL: i32 = 16;

const MOST_SIGNALS: i32 = 64;

/// A balanced tree of a billion listeners is not that deep: one that is goes round in circles.
const DEEPEST: usize = 64;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalFault {
    /// The memory could not be read.
    Unreadable,
    /// What should be a listener is something else.
    NoListener,
    /// The listeners have no end.
    Endless,
}

impl From<Fault> for SignalFault {
    fn from(_: Fault) -> Self {
        Self::Unreadable
    }
}

/// Whether a variable of this name is the root of the tree.
pub fn is_signal_tree(name: &[u8]) -> bool {
    name.strip_prefix(ROOT).is_some_and(|rest| matches!(rest, [] | [b'.', ..]))
}

/// Whether a program listens to a signal: goes down from the root to where its listener would be.
pub fn listens_to(memory: &dyn Memory, root: u64, wanted: i32) -> Result<bool, SignalFault> {
    let mut pointer = [0; 8];
    memory.read(root, &mut pointer)?;
    let mut at = u64::from_le_bytes(pointer);
    for _ in 0..DEEPEST {
        if at == 0 {
            return Ok(false);
        }
        let mut handle = [0; SIZE];
        memory.read(at, &mut handle)?;
        let signal = number(&handle, SIGNAL).filter(|signal| (1..=MOST_SIGNALS).contains(signal));
        let signal = signal.filter(|_| number(&handle, TYPE) == Some(UV_SIGNAL));
        let signal = signal.ok_or(SignalFault::NoListener)?;
        if signal == wanted {
            return Ok(true);
        }
        let next = if signal > wanted { LEFT } else { RIGHT };
        at = word(&handle, next).ok_or(SignalFault::NoListener)?;
    }
    Err(SignalFault::Endless)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const SIGUSR1: i32 = 10;

    /// The root at address 8, and handles.
    struct Tree(HashMap<u64, Vec<u8>>);

    impl Memory for Tree {
        fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
            out.copy_from_slice(
                self.0.get(&address).filter(|bytes| bytes.len() == out.len()).ok_or(Fault)?,
            );
            Ok(())
        }
    }

    /// A memory of handles: where, which signal, left, right.
    fn found(root: u64, handles: &[(u64, i32, u64, u64)]) -> Result<bool, SignalFault> {
        let handle = |(at, signal, left, right): &(u64, i32, u64, u64)| {
            let mut bytes = vec![0; SIZE];
            bytes[TYPE..TYPE + 4].copy_from_slice(&UV_SIGNAL.to_le_bytes());
            bytes[SIGNAL..SIGNAL + 4].copy_from_slice(&signal.to_le_bytes());
            bytes[LEFT..LEFT + 8].copy_from_slice(&left.to_le_bytes());
            bytes[RIGHT..RIGHT + 8].copy_from_slice(&right.to_le_bytes());
            (*at, bytes)
        };
        let mut memory: HashMap<u64, Vec<u8>> = handles.iter().map(handle).collect();
        memory.insert(8, root.to_le_bytes().to_vec());
        listens_to(&Tree(memory), 8, SIGUSR1)
    }

    #[test]
    fn the_tree_is_searched_by_signal() {
        assert_eq!(found(0, &[]), Ok(false));
        assert_eq!(found(16, &[(16, 10, 0, 0)]), Ok(true));
        let tree = [(16, 15, 32, 48), (32, 1, 0, 64), (48, 17, 0, 0), (64, 10, 0, 0)];
        assert_eq!(found(16, &tree), Ok(true));
        let without = tree.map(|(at, signal, left, right)| (at, signal, left, right & !64));
        assert_eq!(found(16, &without), Ok(false));
    }

    #[test]
    fn nonsense_is_no_answer() {
        assert_eq!(found(16, &[]), Err(SignalFault::Unreadable), "a pointer to nowhere");
        assert_eq!(found(16, &[(16, 15, 16, 16)]), Err(SignalFault::Endless), "a circle");
        for signal in [99, 0, -1] {
            assert_eq!(found(16, &[(16, signal, 0, 0)]), Err(SignalFault::NoListener), "no signal");
        }
    }

    #[test]
    fn the_name_of_the_root() {
        assert!(is_signal_tree(b"uv__signal_tree") && is_signal_tree(b"uv__signal_tree.0"));
        assert!(!is_signal_tree(b"uv__signal_trees") && !is_signal_tree(b"signal_tree"));
    }
}

//! `nodescope record` on Node for musl: its C library has no unwind tables, and keeps no frame pointers.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::program::running::{can_record, musl_nodes};
use crate::program::shares::{root_reach, shares_are_right};

#[test]
fn plain_processes_have_names_and_shares() {
    if can_record() {
        for (release, node) in musl_nodes() {
            shares_are_right(&format!("{release} for musl"), &node, &[]);
        }
    }
}

#[test]
fn stacks_reach_their_roots() {
    if can_record() {
        for (release, node) in musl_nodes() {
            let (main, others) = root_reach(&format!("Node {release} for musl"), &node);
            assert!(main >= 0.98 && others >= 0.95, "{release}: {main} and {others}");
        }
    }
}

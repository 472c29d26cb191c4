//! Stacks of every version of Node, from a busy program, reach the functions that began their threads.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::program::running::{can_record, some_nodes};
use crate::program::shares::root_reach;

#[test]
fn stacks_reach_their_roots() {
    if can_record() {
        for (release, node) in some_nodes() {
            let (main, others) = root_reach(&format!("Node {release}"), &node);
            assert!(main >= 0.99 && others >= 0.98, "{release}: {main} and {others}");
        }
    }
}

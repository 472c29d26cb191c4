//! Other allocators, which do as they like.

/// Prepares for reading a large input: nothing can be done here.
pub fn expect_large_input() {}

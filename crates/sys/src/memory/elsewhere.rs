//! Other allocators, which take no advice.

/// Prepares for reading a large input: nothing can be done here.
pub fn expect_large_input() {}

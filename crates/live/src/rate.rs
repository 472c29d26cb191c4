//! How often a recording samples that chooses the rate itself.

/// Samples a second of each busy thread: what every recording costs a target that is busy.
pub const BASE_RATE: u32 = 99;

/// The same while the target is mostly idle, and only by perf events. Ten times as many samples name the functions of a
/// service that uses a hundredth of a CPU in ten seconds, and copies of stacks still fit into the smallest rings.
pub const FAST_RATE: u32 = 999;

//! The numbers of the records that `nodescope record` adds to perf's: perf skips what it does not know.

/// What is known of a process.
pub const FACTS: u32 = 0x4e53_0001;
/// The CPU time that was used.
pub const CPU_TIME: u32 = 0x4e53_0003;
/// A frame with a name that is one text.
pub const JAVASCRIPT: u32 = 0x4e53_0004;
/// A sentence for the user.
pub const NOTE: u32 = 0x4e53_0005;
/// Why frames have no name, and how many.
pub const UNNAMED: u32 = 0x4e53_0006;
/// A checksum of what stands before it.
pub const CHECKSUM: u32 = 0x4e53_0007;
/// The watch of an event loop.
pub const LOOP_WATCH: u32 = 0x4e53_0008;
/// A stretch of a loop's time.
pub const TURN: u32 = 0x4e53_0009;
/// What the kernel counted in a piece of time.
pub const SECOND: u32 = 0x4e53_000a;
/// How long requests would have waited for an event loop.
pub const DELAY: u32 = 0x4e53_000b;
/// What a thread pool did in a piece of time.
pub const POOL: u32 = 0x4e53_000c;
/// Times off the CPU that were summed up.
pub const SHORT_WAITS: u32 = 0x4e53_0010;
/// Something that was lost.
pub const LOSS: u32 = 0x4e53_0020;
/// A part of a script that a transpiler made.
pub const SCRIPT: u32 = 0x4e53_0021;
/// A frame whose name has parts.
pub const NAMED: u32 = 0x4e53_0022;

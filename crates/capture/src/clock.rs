//! The clock that samples, as the kernel is asked for it: at one rate, or at two of which one counts.

use sys::perf::{ATTRIBUTE_BYTES, Attribute};

use crate::sampler::{Options, REGISTERS};

pub(crate) const SOFTWARE: u32 = 1;
pub(crate) const CPU_CLOCK: u64 = 0;
pub(crate) const CLOCK_MONOTONIC: i32 = 1;

/// Instruction pointer, thread, time, call chain, CPU, period, id in front.
pub(crate) const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16;

/// Registers of user space and a copy of the stack.
pub(crate) const STACK_COPY: u64 = 1 << 12 | 1 << 13;

/// Bits of the attribute's flags.
pub(crate) mod flag {
    pub(crate) const DISABLED: u64 = 1 << 0;
    pub(crate) const INHERIT: u64 = 1 << 1;
    pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    pub(crate) const EXCLUDE_IDLE: u64 = 1 << 7;
    pub(crate) const MMAP: u64 = 1 << 8;
    pub(crate) const COMM: u64 = 1 << 9;
    pub(crate) const FREQUENCY: u64 = 1 << 10;
    pub(crate) const ENABLE_ON_EXEC: u64 = 1 << 12;
    pub(crate) const TASK: u64 = 1 << 13;
    pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub(crate) const EXCLUDE_USER_CHAIN: u64 = 1 << 22;
    pub(crate) const MMAP2: u64 = 1 << 23;
    pub(crate) const COMM_EXEC: u64 = 1 << 24;
    pub(crate) const USE_CLOCK: u64 = 1 << 25;
    pub(crate) const SWITCHES: u64 = 1 << 26;
    /// Since Linux 5.13.
    pub(crate) const INHERIT_THREADS_ONLY: u64 = 1 << 35;
}

/// A copy of so much has all frames that the kernel would find: it finds 127, and takes as long as for the copy.
const WHOLE_STACK: u32 = 48 << 10;

/// The clock that samples the thread that runs.
pub(crate) fn clock(options: &Options) -> Attribute {
    let mut flags = flag::DISABLED
        | flag::INHERIT
        | flag::EXCLUDE_HYPERVISOR
        | flag::MMAP
        | flag::MMAP2
        | flag::COMM
        | flag::COMM_EXEC
        | flag::FREQUENCY
        | flag::TASK
        | flag::SAMPLE_ID_ALL
        | flag::USE_CLOCK
        | flag::SWITCHES;
    if options.on_exec {
        flags |= flag::ENABLE_ON_EXEC;
    }
    if !options.children {
        flags |= flag::INHERIT_THREADS_ONLY;
    }
    let copies = options.stack_bytes > 0;
    if options.stack_bytes >= WHOLE_STACK {
        flags |= flag::EXCLUDE_USER_CHAIN;
    }
    Attribute {
        kind: SOFTWARE,
        size: ATTRIBUTE_BYTES,
        config: CPU_CLOCK,
        frequency: u64::from(options.frequency),
        sample_type: SAMPLE_TYPE | if copies { STACK_COPY } else { 0 },
        user_registers: if copies { REGISTERS } else { 0 },
        user_stack: options.stack_bytes,
        flags,
        // A reader that needs no fresh samples does not wait for this.
        wakeup: 1,
        clock: CLOCK_MONOTONIC,
        ..Attribute::default()
    }
}

/// The clock at the higher rate, where there is one. Events beside the clock have numbers of their own, and the rings
/// must take them.
pub(crate) fn fast(options: &Options, clock: &Attribute) -> Option<Attribute> {
    let frequency = options.fast_frequency.filter(|_| options.events.is_empty())?;
    Some(Attribute { frequency: u64::from(frequency), ..*clock })
}

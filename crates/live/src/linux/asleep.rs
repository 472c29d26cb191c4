//! Stacks of threads that sleep inside of a long turn: walked when they are read, and written when it is known how long
//! they stand for.

use std::collections::{BTreeMap, BTreeSet};

use capture::{WAITS_ID, own};
use symbols::Walker;
use trace::machine::HERE;
use trace::{
    Address, Context, FIRST_SYSTEM_CALL_ROW, FrameName, JavaScript, Registers, Sample, Sink,
};

use super::threads::syscall_name;

/// The event of sleeping stacks, on their way through a walker.
pub(super) const WAITS_EVENT: u32 = u32::MAX;

/// The stack and instruction pointer, by the numbers of the kernel's perf_regs.h.
pub(super) const PLACE_REGISTERS: u64 = 1 << HERE.registers.sp | 1 << HERE.registers.pc;

/// At most this many stacks wait for a weight.
const MOST_CHAINS: usize = 256;

/// What the watch of event loops has seen since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Turns, loops and counters, as records.
    pub records: Vec<u8>,
    /// Sleeping stacks that were read.
    pub stacks: Vec<Stack>,
    /// How long some of them stand for.
    pub waits: Vec<Wait>,
}

/// A stack that was read, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its number.
    pub number: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// When it was read.
    pub time_ns: u64,
    /// The stack.
    pub stack: SleepingStack,
}

/// What a thread that sleeps has on its stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SleepingStack {
    /// The system call that it sleeps in; none for a page fault.
    pub syscall: Option<u32>,
    /// Its stack pointer.
    pub sp: u64,
    /// Where its own code goes on.
    pub pc: u64,
    /// The stack, from its pointer on.
    pub bytes: Vec<u8>,
}

/// How long a stack stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// The number of the stack.
    pub number: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// When the stack was read.
    pub time_ns: u64,
    /// How long.
    pub weight_ns: u64,
}

/// The stacks that were walked.
#[derive(Debug, Default)]
pub(super) struct Asleep {
    /// The system calls whose names were recorded.
    calls: BTreeSet<u32>,
    /// Stacks that were walked, by their numbers.
    chains: BTreeMap<u64, Vec<Address>>,
}

impl Asleep {
    /// Lets a sleeping stack be walked: what comes out has the event [`WAITS_EVENT`], and the system call as its leaf.
    pub(super) fn walk(&mut self, asleep: &Stack, walker: &mut Walker<'_>, out: &mut Vec<u8>) {
        let SleepingStack { syscall, sp, pc, bytes } = &asleep.stack;
        let row = FIRST_SYSTEM_CALL_ROW | syscall.unwrap_or(0xffff) & 0xffff;
        if self.calls.insert(row) {
            let symbol = name_of(*syscall);
            let (name, line, column, inlined) = (FrameName::Symbol(symbol.as_bytes()), 0, 0, false);
            out.extend(own::javascript(&JavaScript { row, name, line, column, inlined }));
        }
        walker.sample(&Sample {
            user_registers: Some(Registers { mask: PLACE_REGISTERS, values: &[*sp, *pc] }),
            user_stack: bytes,
            ..sample(
                (asleep.pid, asleep.tid),
                asleep.time_ns,
                &[Address { value: u64::from(row), context: Context::JavaScript }],
            )
        });
    }

    /// Keeps what the walker made of a stack, until it is known how long the thread slept.
    pub(super) fn keep(&mut self, asleep: &Stack, chain: Vec<Address>) {
        self.chains.insert(asleep.number, chain);
        while self.chains.len() > MOST_CHAINS {
            self.chains.pop_first();
        }
    }

    /// Writes the stacks of which it is known by now how long they stand for.
    pub(super) fn write_waits(&mut self, waits: &[Wait], out: &mut Vec<u8>) {
        for wait in waits {
            let Some(chain) = self.chains.remove(&wait.number) else { continue };
            let sample = sample((wait.pid, wait.tid), wait.time_ns, &chain);
            own::sample(WAITS_ID, &Sample { period: wait.weight_ns, ..sample }, out);
        }
    }
}

fn sample<'a>((pid, tid): (u32, u32), time_ns: u64, chain: &'a [Address]) -> Sample<'a> {
    Sample {
        event: WAITS_EVENT,
        time_ns,
        pid: Some(pid),
        tid: Some(tid),
        cpu: None,
        period: 1,
        chain,
        user_registers: None,
        user_stack: &[],
        user_stack_is_full: false,
        awaits: None,
    }
}

/// Whether a sleeping stack has JavaScript in it, beside its leaf.
pub(super) fn has_javascript(chain: &[Address]) -> bool {
    chain.iter().skip(1).any(|address| address.context == Context::JavaScript)
}

/// The leaf of a sleeping stack: what the thread waits in.
fn name_of(syscall: Option<u32>) -> String {
    match (syscall, syscall.and_then(syscall_name)) {
        (_, Some(name)) => format!("{name} (waiting)"),
        (Some(number), None) => format!("system call {number} (waiting)"),
        // A page fault, for example.
        (None, None) => "kernel (waiting)".to_owned(),
    }
}

//! The callers of a thread that sleeps. The kernel reports where it is and where its stack begins, but not its frame
//! pointer. Unwind tables lead from the C library to its caller without one; there it is looked for on the stack, and
//! believed where the code agrees: the frame's return address stands behind a call of this very function.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only a process that runs here sleeps")
)]

use framehop::x86_64::UnwindRegsX86_64;
use framehop::{FrameAddress, Unwinder};

use super::machine::MachineUnwinder;
use super::machine::x86_64::{LONGEST_CALL, direct_call_at_end, ends_with_indirect_call, jumps};
use super::{MOST_FRAMES, Moment, PAGE, ProcessUnwinder, Stack, Step, Unwinders};

/// Stands for a frame pointer that is not known: no unwinder gets anywhere from here.
const UNKNOWN: u64 = 1;

/// Words of one function's frame that are looked at: libuv keeps 12 KiB of events in one.
const MOST_WORDS: u64 = 1 << 13;
/// Words of a C library's frame without tables.
const MOST_LEAF_WORDS: u64 = 1 << 6;
/// Of a function that is searched for a jump.
const MOST_CODE: u64 = 1 << 14;

/// A thread that sleeps, and how to read its code: fills the bytes as a whole or returns false.
pub(crate) struct Sleeper<'a> {
    pub(crate) pc: u64,
    pub(crate) sp: u64,
    pub(crate) stack: &'a [u8],
    pub(crate) read_code: &'a dyn Fn(u64, &mut [u8]) -> bool,
}

/// What stands before a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// A call of this address.
    Of(u64),
    /// A call of the address in a register or a word of memory.
    Indirect,
}

impl Unwinders {
    /// Whether the tables of a file lead the way through an address of a process that was made ready.
    pub(crate) fn has_tables(&self, row: u32, address: u64) -> bool {
        self.by_row.get(&row).is_some_and(|process| process.has_tables(address))
    }

    /// Appends the frames of a thread that sleeps, the leaf first.
    pub(crate) fn sleeping_steps(
        &mut self,
        moment: &Moment<'_>,
        sleeper: &Sleeper<'_>,
        steps: &mut Vec<Step>,
    ) {
        self.prepare(moment);
        steps.push(Step { pc: sleeper.pc, fp: None, is_return_address: false });
        let Some(process) = self.by_row.get(&moment.row) else { return };
        let MachineUnwinder::X86_64(unwinder) = &process.unwinder else { return };
        let stack = Stack { start: sleeper.sp, bytes: sleeper.stack, goes_on: false };
        let search = Search { moment, process, stack, read_code: sleeper.read_code };
        let mut regs = UnwindRegsX86_64::new(sleeper.pc, sleeper.sp, UNKNOWN);
        let mut at = FrameAddress::from_instruction_pointer(sleeper.pc);
        for _ in 0..MOST_FRAMES {
            let before = regs;
            let mut read = |address| stack.read(address);
            let mut caller =
                unwinder.unwind_frame(at, &mut regs, &mut self.caches.x86_64, &mut read);
            if caller.is_err() && before.bp() == UNKNOWN {
                regs = before;
                let is_leaf = !steps.iter().any(|step| step.is_return_address);
                let leaf =
                    if is_leaf { search.caller_of_leaf(sleeper.pc, regs.sp()) } else { None };
                if let Some((pc, sp)) = leaf {
                    regs = UnwindRegsX86_64::new(pc, sp, UNKNOWN);
                    caller = Ok(Some(pc));
                } else if let Some(fp) = search.frame_pointer(at.address_for_lookup(), regs.sp()) {
                    regs.set_bp(fp);
                    // The frame that needed it has it, too.
                    steps.iter_mut().next_back().into_iter().for_each(|step| step.fp = Some(fp));
                    caller =
                        unwinder.unwind_frame(at, &mut regs, &mut self.caches.x86_64, &mut read);
                }
            }
            let Ok(Some(caller)) = caller else { return };
            let Some(next) = FrameAddress::from_return_address(caller) else { return };
            if !moment.is_code(next.address_for_lookup()) {
                return;
            }
            let fp = Some(regs.bp()).filter(|fp| *fp != UNKNOWN);
            steps.push(Step { pc: caller, fp, is_return_address: true });
            at = next;
        }
    }
}

/// Looks for what the kernel does not report.
struct Search<'a> {
    moment: &'a Moment<'a>,
    process: &'a ProcessUnwinder,
    stack: Stack<'a>,
    read_code: &'a dyn Fn(u64, &mut [u8]) -> bool,
}

impl Search<'_> {
    /// The frame pointer of the function at `pc`, whose stack ends at `sp`: where a saved frame pointer leads further
    /// up, and a return address stands behind a call of this function. Older frames lie about below, so the
    /// first that only looks like it counts where none is proven.
    fn frame_pointer(&self, pc: u64, sp: u64) -> Option<u64> {
        let start = self.process.function_start(pc);
        if start.is_none() && self.process.has_tables(pc) {
            return None;
        }
        let mut likely = None;
        for at in (0..MOST_WORDS).map(|word| sp.wrapping_add(word * 8)) {
            let Ok(saved) = self.stack.read(at) else { break };
            if saved <= at || saved % 8 != 0 || self.stack.read(saved).is_err() {
                continue;
            }
            let Ok(caller) = self.stack.read(at.wrapping_add(8)) else { break };
            match (self.call_before(caller), start) {
                (Some(Call::Of(target)), Some(start)) if self.leads(target, start) => {
                    return Some(at);
                }
                // It called another function: a frame that was left long ago, or one of another function's.
                (Some(Call::Of(target)), Some(_))
                    if self.process.function_start(target).is_some() => {}
                (Some(_), _) => likely = likely.or(Some(at)),
                (None, _) => {}
            }
        }
        likely
    }

    /// The caller of a function that keeps no frame pointer and whose tables do not help: where a return address
    /// stands behind a call of it. A C library without tables, such as musl, has small frames: the first return
    /// address above is its caller's. The address, and where the stack ends then.
    fn caller_of_leaf(&self, pc: u64, sp: u64) -> Option<(u64, u64)> {
        let start = self.process.function_start(pc);
        let most = if start.is_some() { MOST_WORDS } else { MOST_LEAF_WORDS };
        let places = (0..most).map(|word| sp.wrapping_add(word * 8));
        let mut callers =
            places.map_while(|at| Some((self.stack.read(at).ok()?, at.wrapping_add(8))));
        callers.find(|(caller, _)| {
            let is_native = caller.checked_sub(1).is_some_and(|call| self.process.has_tables(call));
            match (is_native.then(|| self.call_before(*caller)).flatten(), start) {
                (Some(Call::Of(target)), Some(start)) => self.leads(target, start),
                (call, start) => call.is_some() && start.is_none(),
            }
        })
    }

    /// Whether a call of `target` gets to `start`: at once, or by a jump at the end of the function there.
    fn leads(&self, target: u64, start: u64) -> bool {
        if target == start {
            return true;
        }
        let Some(end) = self.process.function_end(target) else { return false };
        let size = end.saturating_sub(target).min(MOST_CODE) as usize;
        let mut code = vec![0; size];
        if !(self.read_code)(target, &mut code) {
            return false;
        }
        jumps(&code).any(|jump| target.wrapping_add_signed(jump.leads_to) == start)
    }

    /// The call that a return address stands behind, if it does.
    fn call_before(&self, address: u64) -> Option<Call> {
        let before = address.checked_sub(LONGEST_CALL as u64).filter(|before| *before > PAGE)?;
        if !self.moment.is_code(address - 1) {
            return None;
        }
        let mut bytes = [0; LONGEST_CALL];
        (self.read_code)(before, &mut bytes).then_some(())?;
        call_at_end(&bytes, address)
    }
}

/// A call whose last byte is the last of these.
fn call_at_end(bytes: &[u8; LONGEST_CALL], address: u64) -> Option<Call> {
    if let Some(distance) = direct_call_at_end(bytes) {
        return Some(Call::Of(address.wrapping_add_signed(distance.into())));
    }
    ends_with_indirect_call(bytes).then_some(Call::Indirect)
}

fn distance(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| i64::from(i32::from_le_bytes(*bytes)) as u64)
}

/// The sorted table of a file's functions, in .eh_frame_hdr.
pub(super) struct Index<'a> {
    pub(super) address: u64,
    pub(super) bytes: &'a [u8],
}

/// How a table begins that is sorted and has distances of four bytes: every linker writes it so.
const INDEX_START: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
const INDEX_HEAD: usize = 12;

impl Index<'_> {
    /// Where the function at an address begins, and where the next one does.
    pub(super) fn function(&self, address: u64) -> Option<(u64, Option<u64>)> {
        let rows = self.bytes.get(INDEX_HEAD..)?.as_chunks::<8>().0;
        if !self.bytes.starts_with(&INDEX_START) {
            return None;
        }
        let count = u32::from_le_bytes(*self.bytes.get(8..)?.first_chunk()?) as usize;
        let rows = rows.get(..count)?;
        let start = |row: &[u8; 8]| self.address.wrapping_add(distance(row));
        let after = rows.partition_point(|row| start(row) <= address);
        Some((start(rows.get(after.checked_sub(1)?)?), rows.get(after).map(start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_last_bytes() {
        let call = |bytes: [u8; 7]| call_at_end(&bytes, 0x1000);
        assert_eq!(call([0, 0, 0xe8, 0xfb, 0xff, 0xff, 0xff]), Some(Call::Of(0xffb)));
        for bytes in [
            [0, 0, 0, 0, 0, 0xff, 0xd0],    // call rax
            [0, 0, 0, 0, 0x41, 0xff, 0xd4], // call r12
            [0, 0, 0, 0, 0xff, 0x50, 0x18], // call [rax + 24]
            [0, 0xff, 0x15, 1, 2, 3, 4],    // call [rip + …]
            [0, 0xff, 0x90, 1, 2, 3, 4],    // call [rax + …]
        ] {
            assert_eq!(call(bytes), Some(Call::Indirect), "{bytes:x?}");
        }
        for bytes in [[0; 7], [0, 0, 0, 0, 0, 0xff, 0xe0], [0xe8, 1, 2, 3, 4, 5, 6], [0xff; 7]] {
            assert_eq!(call(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn functions_are_found_in_an_index() {
        let mut bytes = INDEX_START.to_vec();
        bytes.extend([0; 4]);
        bytes.extend(3u32.to_le_bytes());
        for start in [-16i32, 0, 32] {
            bytes.extend(start.to_le_bytes());
            bytes.extend([0; 4]);
        }
        let index = Index { address: 0x1000, bytes: &bytes };
        assert_eq!(index.function(0xfef), None);
        assert_eq!(index.function(0xff0), Some((0xff0, Some(0x1000))));
        assert_eq!(index.function(0x101f), Some((0x1000, Some(0x1020))));
        assert_eq!(index.function(u64::MAX), Some((0x1020, None)));
        for cut in 0..bytes.len() {
            assert_eq!(Index { address: 0x1000, bytes: &bytes[..cut] }.function(0x1000), None);
        }
    }
}

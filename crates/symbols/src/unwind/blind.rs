//! Callers where neither tables nor frame pointers lead the way. musl's C library has neither, and uses the frame
//! pointer's register for whatever it likes; OpenSSL's assembler keeps the old stack pointer where no copy of the stack
//! has it. The caller is then a word on the stack that stands behind a call, with a frame pointer, still in its
//! register or saved, that leads on to the root. Words that earlier calls left behind look alike, so each is doubted.

use rustc_hash::FxHashMap;

use super::machine::x86_64::{
    LONGEST_CALL, LONGEST_JUMP, direct_call_at_end, ends_with_indirect_call, is_jump_out, jumps,
};
use super::{Moment, PAGE, Stack};
use crate::images;
use crate::places::{Module, Place};

/// What stands before the places in the code of files that were looked at.
#[derive(Default)]
pub(super) struct Codes {
    /// By module and offset.
    known: FxHashMap<(u32, u64), Call>,
}

/// A caller, and the registers that it will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) pc: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
}

/// Where a function may have its caller.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) moment: &'a Moment<'a>,
    pub(super) stack: Stack<'a>,
    /// Where it is, and what it has in its registers.
    pub(super) address: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
    /// Where code has neither tables nor frame pointers.
    pub(super) is_blind: &'a dyn Fn(u64) -> bool,
}

/// What stands before a place in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// No call.
    No,
    /// A call of a function of the same file, at this distance.
    Inside(i32),
    /// One that may lead to another file.
    Outside,
}

/// Where the frame pointers from a frame on lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Nowhere,
    /// Past the end of the copy.
    BehindCopy,
    /// To the C library, which begins every thread; or so far that it is a chain.
    Root,
}

/// A caller from which frame pointers lead to the root is believed before one from which they leave the copy.
#[derive(Default)]
struct Surest {
    /// The first that leads past the end of the copy.
    unproven: Option<Caller>,
}

impl Surest {
    /// Whether this is the one. Otherwise it is kept where it may be.
    fn is_found(&mut self, lead: Lead, caller: Caller) -> bool {
        if lead == Lead::BehindCopy {
            self.unproven = self.unproven.or(Some(caller));
        }
        lead == Lead::Root
    }
}

/// How far the caller may be: two paths and a little more.
const MOST_BYTES: u64 = 16 << 10;

/// A chain of frame pointers that is so long is one.
const LONG_CHAIN: usize = 64;

/// Assembler has its parts side by side: those for older processors, which look for newer ones, and theirs.
const NEAR: u64 = 64 << 10;

/// What is looked at of a function that may only jump to another file.
const SHORT_FUNCTION: usize = 256;

const MOST_KNOWN: usize = 1 << 16;

impl Codes {
    /// The caller of a function that has neither tables nor a frame.
    pub(super) fn caller(&mut self, search: &Search<'_>) -> Option<Caller> {
        let Search { stack, sp, fp, .. } = *search;
        let mut surest = Surest::default();
        for (slot, pc) in search.words() {
            if !self.is_call_from_outside(search, slot, pc) {
                continue;
            }
            // What is pushed first is nearest to the return address.
            let saved = (0..(slot - sp) / 8).rev().filter_map(|row| stack.read(sp + row * 8).ok());
            for fp in std::iter::once(fp).chain(saved).filter(|fp| *fp > slot) {
                let Some(caller) = slot.checked_add(8).map(|sp| Caller { pc, sp, fp }) else {
                    continue;
                };
                if surest.is_found(self.lead(search, fp), caller) {
                    return Some(caller);
                }
            }
        }
        surest.unproven
    }

    /// Whether an address on the stack may be that of a caller in another file.
    fn is_call_from_outside(&mut self, search: &Search<'_>, slot: u64, pc: u64) -> bool {
        let Search { moment, sp, is_blind, .. } = *search;
        match pc.checked_sub(1).and_then(|call| moment.process.find(call)) {
            _ if pc <= PAGE || is_blind(pc - 1) => false,
            // The bytes of generated code are not here: it is believed where its address is expected.
            Some(place) if matches!(moment.place(place), Place::Generated(_)) => slot == sp,
            _ => self.call_before(moment, pc) == Call::Outside,
        }
    }

    /// The caller of a function that has saved the frame pointer at a distance from where the stack pointer was before
    /// the call.
    pub(super) fn caller_of_saved(&mut self, search: &Search<'_>, distance: i64) -> Option<Caller> {
        let home = module_at(search.moment, search.address);
        let mut surest = Surest::default();
        for (slot, pc) in search.words() {
            let Some(sp) = slot.checked_add(8) else { continue };
            let Some(Ok(fp)) = sp.checked_add_signed(distance).map(|at| search.stack.read(at))
            else {
                continue;
            };
            let is_call = match self.call_before(search.moment, pc) {
                Call::No => false,
                Call::Inside(distance) => {
                    pc.wrapping_add_signed(distance.into()).abs_diff(search.address) < NEAR
                }
                // By a pointer, but out of the same library.
                Call::Outside => {
                    home.is_some() && home == module_at(search.moment, pc.wrapping_sub(1))
                }
            };
            let caller = Caller { pc, sp, fp };
            if is_call && fp > slot && surest.is_found(self.lead(search, fp), caller) {
                return Some(caller);
            }
        }
        surest.unproven
    }

    /// Where frame pointers lead from a frame. Memory of other kinds may lie above a thread's stack, and pointers to it
    /// look like pointers to what was not copied: at least one frame must be there to be believed.
    fn lead(&mut self, search: &Search<'_>, mut fp: u64) -> Lead {
        let Search { moment, stack, is_blind, .. } = *search;
        for frames in 0..LONG_CHAIN {
            if !fp.is_multiple_of(8) {
                return Lead::Nowhere;
            }
            let (Ok(above), Ok(pc)) = (stack.read(fp), stack.read(fp.saturating_add(8))) else {
                let is_behind = frames > 0 && stack.is_beyond(fp);
                return if is_behind { Lead::BehindCopy } else { Lead::Nowhere };
            };
            let call = pc.wrapping_sub(1);
            let is_call = match file_at(moment, call) {
                Some((module, _))
                    if is_blind(call) || is_c_library(&moment.modules.rows[module as usize]) =>
                {
                    return Lead::Root;
                }
                Some(_) => self.call_before(moment, pc) != Call::No,
                None => moment.is_code(call),
            };
            if !is_call || above <= fp {
                return Lead::Nowhere;
            }
            fp = above;
        }
        Lead::Root
    }

    /// What stands before an address.
    fn call_before(&mut self, moment: &Moment<'_>, pc: u64) -> Call {
        let Some((module, offset)) = file_at(moment, pc.wrapping_sub(1)) else { return Call::No };
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        *self.known.entry((module, offset)).or_insert_with(|| {
            let mut bytes = [0; LONGEST_CALL];
            // The offset is of a mapping that a file may have made up.
            let start = offset.checked_add(1).and_then(|end| end.checked_sub(LONGEST_CALL as u64));
            let module = &moment.modules.rows[module as usize];
            if !start.is_some_and(|start| peek(moment, module, start, &mut bytes)) {
                return Call::No;
            }
            // A distance that looks like a direct call may stand before it.
            if ends_with_indirect_call(&bytes) {
                return Call::Outside;
            }
            direct_call_at_end(&bytes).map_or(Call::No, |distance| call_of(moment, pc, distance))
        })
    }
}

impl Search<'_> {
    /// The words from the stack pointer on, and where they stand.
    fn words(&self) -> impl Iterator<Item = (u64, u64)> {
        let (stack, end) = (self.stack, self.sp.saturating_add(MOST_BYTES));
        (self.sp..end).step_by(8).map_while(move |slot| Some((slot, stack.read(slot).ok()?)))
    }
}

fn file_at(moment: &Moment<'_>, address: u64) -> Option<(u32, u64)> {
    match moment.place(moment.process.find(address)?) {
        Place::File { module, bias, executable: true } => {
            Some((module, address.wrapping_add(bias)))
        }
        _ => None,
    }
}

fn module_at(moment: &Moment<'_>, address: u64) -> Option<u32> {
    file_at(moment, address).map(|(module, _)| module)
}

/// Reads the code of a file.
fn peek(moment: &Moment<'_>, module: &Module, offset: u64, out: &mut [u8]) -> bool {
    let file = images::find_module(moment.sources, module).ok().flatten();
    file.is_some_and(|file| file.peek(offset, out))
}

/// The libraries whose functions begin programs and threads.
const C_LIBRARIES: [&[u8]; 3] = [b"libc.so", b"libc-2.", b"libpthread"];

fn is_c_library(module: &Module) -> bool {
    let name = module.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    C_LIBRARIES.iter().any(|known| name.starts_with(known))
}

/// What a direct call is: one of a jump to another file, or of a short function that ends with one, leads outside.
fn call_of(moment: &Moment<'_>, end: u64, distance_of_call: i32) -> Call {
    let target_of_call = end.wrapping_add_signed(distance_of_call.into());
    let Some((module, offset)) = file_at(moment, target_of_call) else { return Call::No };
    let module = &moment.modules.rows[module as usize];
    let mut bytes = [0; SHORT_FUNCTION];
    if !peek(moment, module, offset, &mut bytes) {
        return Call::Inside(distance_of_call);
    }
    let leads_out = |address: u64| {
        let mut bytes = [0; LONGEST_JUMP];
        file_at(moment, address).is_some_and(|(_, offset)| peek(moment, module, offset, &mut bytes))
            && is_jump_out(&bytes)
    };
    let mut jumps = jumps(&bytes)
        .filter(|jump| !jump.has_condition)
        .map(|jump| target_of_call.wrapping_add_signed(jump.leads_to));
    if bytes.first_chunk().is_some_and(is_jump_out) || jumps.any(leads_out) {
        Call::Outside
    } else {
        Call::Inside(distance_of_call)
    }
}

#[cfg(test)]
mod tests;

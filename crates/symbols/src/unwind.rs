//! Callers from registers and a copy of the stack, for samples whose call chain ends where user space begins.
//! The unwind tables of the binaries lead the way; code without them (what V8 generates, and its builtins) is
//! crossed by frame pointers. Nothing here names an address.

mod blind;
mod machine;
pub(crate) mod sleeping;

use std::sync::Arc;

use blind::{Caller, Codes, Search};
use elf::{Found, FrameRegisters, FrameTables, Table};
use framehop::x86_64::UnwindRegsX86_64;
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Unwinder};
use machine::{Caches, FrameOf, MachineUnwinder, aarch64_registers};
use rustc_hash::FxHashMap;
use trace::machine::X86_64;
use trace::{Address, Context, Cut, Machine, Sample};

use crate::images::{self, Tables};
use crate::places::{Module, Modules, Place, PlaceId, Places};
use crate::processes::Process;
use crate::sources::Sources;

/// What is known of a recording and a process at the moment of a sample.
pub(crate) struct Moment<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) modules: &'a Modules,
    pub(crate) places: &'a Places,
    pub(crate) build_ids: &'a FxHashMap<Vec<u8>, Vec<u8>>,
    pub(crate) process: &'a Process,
    /// The row of the process.
    pub(crate) row: u32,
    /// The architecture, where the recording has given it already.
    pub(crate) arch: Option<&'a str>,
}

/// Finds the callers of all processes.
#[derive(Default)]
pub(crate) struct Unwinders {
    /// By process.
    by_row: FxHashMap<u32, ProcessUnwinder>,
    files: TableFiles,
    codes: Codes,
    caches: Caches,
    /// How many modules there were since the caches were new.
    modules: usize,
    /// Whether a way has led to where nothing is mapped, as far as is known.
    pub(crate) has_missed: bool,
}

/// The tables of all files, each read once.
#[derive(Default)]
struct TableFiles {
    by_module: FxHashMap<u32, Option<Arc<Tables>>>,
    bytes: usize,
}

/// What a process had mapped when it was made.
struct ProcessUnwinder {
    layout: u32,
    /// The code of files: start, end and place.
    files: Vec<(u64, u64, PlaceId)>,
    /// Where tables lead the way, ascending.
    covered: Vec<(u64, u64)>,
    /// For each of these: the table of its functions.
    indexes: Vec<FileIndex>,
    /// The code of files that has neither tables nor frame pointers.
    blind: Vec<(u64, u64)>,
    /// Functions whose tables are not for framehop, ascending: from where to where, and from where their file is.
    expressions: Vec<(u64, u64, u64, Arc<Tables>)>,
    unwinder: MachineUnwinder,
}

/// The table of a file's functions.
struct FileIndex {
    /// How far the file was moved.
    base: u64,
    address: u64,
    bytes: Arc<[u8]>,
}

/// More frames than a copy of 64 KB has, as large as perf makes them, and a recursion that is shown as a whole.
pub(crate) const MOST_FRAMES: usize = 1 << 12;

/// Stacks are not larger.
const MOST_STACK: u64 = 8 << 20;

/// Beyond this many processes, all are forgotten: a made-up recording has millions.
const MOST_PROCESSES: usize = 64;

/// Mappings of one process that are looked at, those of code among them, and what of these has tables.
const MOST_MAPPINGS: usize = 1 << 16;
const MOST_FILES: usize = 1 << 11;
const MOST_MODULES: usize = 1 << 11;
const MOST_EXPRESSIONS: usize = 1 << 12;

/// Tables of all files.
const MOST_BYTES: usize = 1 << 29;

/// framehop distinguishes the modules of two processes by 16 bits: its caches are emptied before a number is used
/// again.
const MOST_CACHED_MODULES: usize = 1 << 14;

/// Tables that cover less than this part of a file's code do not count.
const SMALLEST_PART: u64 = 16;

/// Nothing of user space lies below the first page.
const PAGE: u64 = 4096;

/// Whether a sample has enough to find callers, and does not name them itself.
pub(crate) fn wants_unwinding(sample: &Sample<'_>) -> bool {
    sample.user_registers.is_some()
        && !sample.chain.iter().any(|address| address.context == Context::User)
}

/// A frame that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The instruction that runs, or the one to return to.
    pub(crate) pc: u64,
    /// The frame pointer; `None` where the function has no frame.
    pub(crate) fp: Option<u64>,
    /// Whether `pc` is behind a call.
    pub(crate) is_return_address: bool,
}

impl Step {
    /// An address inside of the instruction that runs or calls.
    pub(crate) fn instruction(self) -> u64 {
        self.pc.wrapping_sub(u64::from(self.is_return_address))
    }
}

impl Unwinders {
    /// Appends the user frames of a sample, the leaf first: where it was, then the calls. Returns whether the stack
    /// goes on where the copy of it ends: then the last frame marks that.
    pub(crate) fn unwind(
        &mut self,
        moment: &Moment<'_>,
        sample: &Sample<'_>,
        chain: &mut Vec<Address>,
    ) -> bool {
        let mut steps = Vec::new();
        let is_cut = self.steps(moment, sample, &mut steps);
        let user = |step: &Step| Address { value: step.instruction(), context: Context::User };
        chain.extend(steps.iter().map(user));
        chain.extend(is_cut.then(|| Cut::DeeperThanCopy.address()));
        is_cut
    }

    /// Makes ready for a process: from then on it is known where tables lead the way.
    pub(crate) fn prepare(&mut self, moment: &Moment<'_>) {
        self.settle(moment, moment.machine().unwrap_or(&X86_64));
    }

    /// Appends the frames of user space, the leaf first. `steps` holds the innermost frames already where they are
    /// known better than from the tables. Whether the way led past the end of the copy, or is too long.
    pub(crate) fn steps(
        &mut self,
        moment: &Moment<'_>,
        sample: &Sample<'_>,
        steps: &mut Vec<Step>,
    ) -> bool {
        let Some(registers) = sample.user_registers else { return false };
        let machine = if moment.arch.is_some() { moment.machine() } else { Machine::of(registers) };
        self.settle(moment, machine.unwrap_or(&X86_64));
        let Some(process) = self.by_row.get(&moment.row) else { return false };
        let (codes, has_missed) = (&mut self.codes, &mut self.has_missed);
        let (bytes, is_beyond) = (sample.user_stack, false);
        let numbers = process.unwinder.machine().registers;
        let Some(pc) = registers.get(numbers.pc) else { return false };
        let mut leaf = Step { pc, fp: registers.get(numbers.fp), is_return_address: false };
        let (Some(sp), Some(fp)) = (registers.get(numbers.sp), leaf.fp) else {
            steps.push(leaf);
            return false;
        };
        let stack = Stack { start: sp, bytes, goes_on: sample.user_stack_is_full };
        match &process.unwinder {
            MachineUnwinder::X86_64(unwinder) => {
                if let Some(last) = steps.last() {
                    leaf = *last;
                } else {
                    let callers = process.callers_without_frame(moment, (pc, fp), stack);
                    for caller in callers.into_iter().flatten() {
                        steps.push(Step { fp: None, ..leaf });
                        leaf = Step { pc: caller, fp: Some(fp), is_return_address: true };
                    }
                    steps.push(leaf);
                }
                let sp = sp.wrapping_add(8 * (steps.len() as u64 - 1));
                let cache = &mut self.caches.x86_64;
                let mut walk =
                    Walk { unwinder, cache, moment, stack, process, codes, has_missed, is_beyond };
                walk.callers(leaf, UnwindRegsX86_64::new(leaf.pc, sp, leaf.fp.unwrap_or(fp)), steps)
            }
            MachineUnwinder::Aarch64(unwinder) => {
                steps.push(leaf);
                let Some(lr) = numbers.link.and_then(|link| registers.get(link)) else {
                    return false;
                };
                let cache = &mut self.caches.aarch64;
                let mut walk =
                    Walk { unwinder, cache, moment, stack, process, codes, has_missed, is_beyond };
                walk.callers(leaf, aarch64_registers(lr, sp, fp), steps)
            }
        }
    }

    /// Makes the unwinder of a process, or makes it anew if the code of other files is mapped now.
    fn settle(&mut self, moment: &Moment<'_>, machine: &Machine) {
        let layout = moment.process.layout;
        let known = self.by_row.get_mut(&moment.row);
        if known.as_ref().is_some_and(|known| known.layout == layout) {
            return;
        }
        let files = moment.files();
        if let Some(known) = known.filter(|known| known.files == files) {
            known.layout = layout;
            return;
        }
        if self.by_row.len() >= MOST_PROCESSES {
            self.by_row.clear();
        }
        let process = self.make(moment, layout, files, machine);
        self.modules += process.covered.len();
        if self.modules > MOST_CACHED_MODULES {
            self.caches = Caches::default();
            self.modules = process.covered.len();
        }
        self.by_row.insert(moment.row, process);
    }

    fn make(
        &mut self,
        moment: &Moment<'_>,
        layout: u32,
        files: Vec<(u64, u64, PlaceId)>,
        machine: &Machine,
    ) -> ProcessUnwinder {
        let unwinder = MachineUnwinder::new(machine);
        let (covered, indexes, blind, expressions) = Default::default();
        let mut process = ProcessUnwinder {
            layout,
            files: Vec::new(),
            covered,
            indexes,
            blind,
            expressions,
            unwinder,
        };
        for (start, end, place) in &files {
            if let Place::File { module, bias, .. } = moment.place(*place)
                && let Some(tables) = self.files.get(moment, module)
            {
                if tables.covered_bytes < (end - start) / SMALLEST_PART {
                    process.blind.push((*start, *end));
                } else {
                    process.add(&tables, (*start, *end), bias);
                }
            }
        }
        process.expressions.sort_unstable_by_key(|(start, ..)| *start);
        process.files = files;
        process
    }
}

impl Moment<'_> {
    /// The machine, where the recording has given one that is known.
    fn machine(&self) -> Option<&'static Machine> {
        self.arch.and_then(Machine::named)
    }

    pub(crate) fn place(&self, id: PlaceId) -> Place {
        self.places.rows[id.0 as usize]
    }

    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.process.find(address).is_some_and(|id| self.place(id).is_code())
    }

    /// The code of files that is mapped.
    fn files(&self) -> Vec<(u64, u64, PlaceId)> {
        let is_file = |id| matches!(self.place(id), Place::File { executable: true, .. });
        let mappings = self.process.mappings().take(MOST_MAPPINGS);
        mappings.filter(|(_, _, id)| is_file(*id)).take(MOST_FILES).collect()
    }
}

impl TableFiles {
    fn get(&mut self, moment: &Moment<'_>, row: u32) -> Option<Arc<Tables>> {
        if let Some(known) = self.by_module.get(&row) {
            return known.clone();
        }
        let module = &moment.modules.rows[row as usize];
        let build_id =
            module.build_id.as_ref().or_else(|| moment.build_ids.get(&module.path)).cloned();
        let known = Module { build_id, ..module.clone() };
        let tables = images::read_tables(moment.sources, &known);
        let tables = tables.filter(|tables| self.bytes + tables.size() <= MOST_BYTES).map(Arc::new);
        self.bytes += tables.as_deref().map_or(0, Tables::size);
        self.by_module.insert(row, tables.clone());
        tables
    }
}

impl ProcessUnwinder {
    /// Adds what a mapping shows of a file's code.
    fn add(&mut self, tables: &Arc<Tables>, (start, end): (u64, u64), bias: u64) {
        let first = tables.segments.address_of(start.wrapping_add(bias));
        let Some(base) = first.and_then(|first| start.checked_sub(first)) else { return };
        for range in tables.expressions.iter().take(MOST_EXPRESSIONS) {
            let (from, to) = (range.start.saturating_add(base), range.end.saturating_add(base));
            if from >= start && to <= end {
                self.expressions.push((from, to, base, Arc::clone(tables)));
            }
        }
        for range in &tables.covered {
            let (from, to) =
                (range.start.saturating_add(base).max(start), range.end.saturating_add(base));
            let to = to.min(end);
            if from >= to || self.covered.len() == MOST_MODULES {
                continue;
            }
            let sections = ExplicitModuleSectionInfo {
                text_svma: Some(tables.text..tables.text),
                eh_frame_svma: Some(tables.frames.0..tables.frames.0),
                eh_frame: Some(Arc::clone(&tables.frames.1)),
                eh_frame_hdr_svma: Some(tables.index.0..tables.index.0),
                eh_frame_hdr: Some(Arc::clone(&tables.index.1)),
                ..ExplicitModuleSectionInfo::default()
            };
            let module = framehop::Module::new(String::new(), from..to, base, sections);
            self.unwinder.add_module(module);
            self.covered.push((from, to));
            let (address, bytes) = (tables.index.0, Arc::clone(&tables.index.1));
            self.indexes.push(FileIndex { base, address, bytes });
        }
    }

    /// V8's bytecode handlers have no frame of their own, nor has a function before its first instructions, or behind
    /// its last: there the caller is on top of the stack, or below the frame pointer that was just saved, and the
    /// frame pointer would lead past it. A caller in baseline code may have no frame yet, either. What else is there is
    /// never an address of such code.
    fn callers_without_frame(
        &self,
        moment: &Moment<'_>,
        (ip, bp): (u64, u64),
        stack: Stack<'_>,
    ) -> [Option<u64>; 2] {
        let keeps_frames = |address: u64| {
            !self.has_tables(address) && !self.is_blind(address) && moment.is_code(address)
        };
        let is_caller = |address: &u64| *address > PAGE && keeps_frames(*address - 1);
        if !keeps_frames(ip) {
            return [None, None];
        }
        let (top, second) =
            (stack.read(stack.start).ok(), stack.read(stack.start.wrapping_add(8)).ok());
        if top == Some(bp) {
            return [second.filter(is_caller), None];
        }
        let top = top.filter(is_caller);
        [top, second.filter(|second| top.is_some() && is_caller(second))]
    }

    fn has_tables(&self, address: u64) -> bool {
        self.covered_row(address).is_some()
    }

    fn covered_row(&self, address: u64) -> Option<usize> {
        let row = self.covered.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        (address < self.covered[row].1).then_some(row)
    }

    /// Where the function at an address begins, where tables have it.
    fn function_start(&self, address: u64) -> Option<u64> {
        self.function(address).map(|(start, _)| start)
    }

    /// Where the next one begins.
    fn function_end(&self, address: u64) -> Option<u64> {
        self.function(address)?.1
    }

    fn function(&self, address: u64) -> Option<(u64, Option<u64>)> {
        let FileIndex { base, address: index, bytes } = &self.indexes[self.covered_row(address)?];
        let index = sleeping::Index { address: *index, bytes };
        let (start, end) = index.function(address.wrapping_sub(*base))?;
        Some((start.wrapping_add(*base), end.map(|end| end.wrapping_add(*base))))
    }

    fn is_blind(&self, address: u64) -> bool {
        self.blind.iter().any(|(start, end)| (*start..*end).contains(&address))
    }

    /// The caller of a function that only an expression leads away from.
    fn caller_by_expression(
        &self,
        address: u64,
        registers: FrameRegisters,
        stack: Stack<'_>,
    ) -> Option<Found> {
        let after = self.expressions.partition_point(|(start, ..)| *start <= address);
        let (_, end, base, tables) = self.expressions.get(after.checked_sub(1)?)?;
        if address >= *end {
            return None;
        }
        let all = FrameTables {
            index: Table { address: tables.index.0, bytes: &tables.index.1 },
            frames: Table { address: tables.frames.0, bytes: &tables.frames.1 },
            text: tables.text,
        };
        elf::caller_by_expression(&all, address - base, registers, &|at| stack.read(at).ok())
    }
}

/// The way from one sample to its callers.
struct Walk<'a, U: Unwinder> {
    unwinder: &'a U,
    cache: &'a mut U::Cache,
    moment: &'a Moment<'a>,
    stack: Stack<'a>,
    process: &'a ProcessUnwinder,
    codes: &'a mut Codes,
    has_missed: &'a mut bool,
    /// Whether the last step wanted to read what stands behind the copy.
    is_beyond: bool,
}

impl<U: Unwinder> Walk<'_, U>
where
    U::UnwindRegs: FrameOf,
{
    /// Goes on until the end of the stack, or of what was copied of it: whether it was that. What is no code calls
    /// nothing: there the frame pointer was used for something else.
    fn callers(&mut self, leaf: Step, mut regs: U::UnwindRegs, steps: &mut Vec<Step>) -> bool {
        if self.stack.start < PAGE {
            return false;
        }
        let innermost = FrameAddress::from_instruction_pointer(leaf.pc);
        let mut at = match leaf.is_return_address {
            true => FrameAddress::from_return_address(leaf.pc).unwrap_or(innermost),
            false => innermost,
        };
        while steps.len() < MOST_FRAMES {
            self.is_beyond = false;
            let Some(caller) = self.caller(at, &mut regs) else { return self.is_beyond };
            let Some(next) = FrameAddress::from_return_address(caller) else { return false };
            if !self.moment.is_code(next.address_for_lookup()) {
                *self.has_missed = true;
                return false;
            }
            steps.push(Step {
                pc: caller,
                fp: Some(regs.frame_pointer()),
                is_return_address: true,
            });
            at = next;
        }
        true
    }

    fn caller(&mut self, at: FrameAddress, regs: &mut U::UnwindRegs) -> Option<u64> {
        let (stack, process, address) = (self.stack, self.process, at.address_for_lookup());
        if let Some((sp, fp)) = regs.pointers() {
            let is_blind = |address: u64| process.is_blind(address);
            let search =
                Search { moment: self.moment, stack, address, sp, fp, is_blind: &is_blind };
            let here = FrameRegisters { pc: at.address(), sp, fp };
            let found = match process.caller_by_expression(address, here, stack) {
                _ if is_blind(address) => Some(self.codes.caller(&search)?),
                Some(Found::Caller(FrameRegisters { pc, sp, fp })) => Some(Caller { pc, sp, fp }),
                Some(Found::Saved(distance)) => self.codes.caller_of_saved(&search, distance),
                None => None,
            };
            if let Some(caller) = found {
                regs.go_to(caller);
                return Some(caller.pc);
            }
        }
        let is_beyond = &mut self.is_beyond;
        let mut read = |address| {
            let word = stack.read(address);
            *is_beyond |= word.is_err() && stack.is_beyond(address);
            word
        };
        self.unwinder.unwind_frame(at, regs, self.cache, &mut read).ok()?
    }
}

/// The copy of a stack.
#[derive(Clone, Copy)]
struct Stack<'a> {
    start: u64,
    bytes: &'a [u8],
    /// Whether there may be more of it.
    goes_on: bool,
}

impl Stack<'_> {
    fn read(self, address: u64) -> Result<u64, ()> {
        let at =
            address.checked_sub(self.start).and_then(|at| usize::try_from(at).ok()).ok_or(())?;
        let word = self.bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(())?;
        Ok(u64::from_le_bytes(*word))
    }

    /// Whether an address is of a part of the stack that is not here.
    fn is_beyond(self, address: u64) -> bool {
        let end = self.end().saturating_sub(7);
        self.goes_on && (end..end.saturating_add(MOST_STACK)).contains(&address)
    }

    /// Behind the last byte of the copy.
    fn end(self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests;

//! One sample. Its event determines which parts stand in it, and in which order.

use trace::{Address, AwaitEnd, Awaits, Context, Registers, Sample};

use super::attributes::{Attribute, BRANCH_HW_INDEX, part};
use super::bytes::{Bytes, Order};

/// Addresses from here on are no addresses: they mark whose the next ones are.
const CONTEXT_MAX: u64 = -4095i64 as u64;
const CONTEXT_KERNEL: u64 = -128i64 as u64;
const CONTEXT_USER: u64 = -512i64 as u64;
const CONTEXT_HYPERVISOR: u64 = -32i64 as u64;
const CONTEXT_GUEST: u64 = -2048i64 as u64;
const CONTEXT_GUEST_KERNEL: u64 = -2176i64 as u64;
const CONTEXT_GUEST_USER: u64 = -2560i64 as u64;

/// Our own: the next ones are rows of frames that were named when they were seen.
const CONTEXT_JAVASCRIPT: u64 = -3072i64 as u64;

/// Our own, too: the stack goes on, but its callers are unknown.
const CONTEXT_CUT: u64 = -3328i64 as u64;

/// Our own: what waits for the stack. How much of it was resumed, why there is no more, and rows of frames.
const CONTEXT_AWAITS: u64 = -3584i64 as u64;

const READ_ENABLED: u64 = 1 << 0;
const READ_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

/// A branch: from, to, flags.
const BRANCH_WORDS: u64 = 3;

/// Memory for one sample's lists, used again for the next.
#[derive(Default)]
pub(super) struct Lists {
    chain: Vec<Address>,
    registers: Vec<u64>,
    awaiters: Vec<u32>,
}

/// Whose code runs, as a record's flags give it.
pub(super) fn context_of(misc: u16) -> Context {
    match misc & 7 {
        1 => Context::Kernel,
        2 => Context::User,
        _ => Context::Elsewhere,
    }
}

/// Where the id stands in a sample: all events of a file agree on it.
pub(super) fn id_of(attribute: &Attribute, mut body: Bytes<'_>) -> Option<u64> {
    if attribute.has(part::IDENTIFIER) {
        return body.u64();
    }
    if !attribute.has(part::ID) {
        return None;
    }
    let before = [part::IP, part::TID, part::TIME, part::ADDR]
        .into_iter()
        .filter(|part| attribute.has(*part));
    body.take_words(before.count() as u64)?;
    body.u64()
}

/// The time of a sample, where it has one.
pub(super) fn time_of(attribute: &Attribute, mut body: Bytes<'_>) -> Option<u64> {
    let before =
        [part::IDENTIFIER, part::IP, part::TID].into_iter().filter(|part| attribute.has(*part));
    body.take_words(before.count() as u64)?;
    if attribute.has(part::TIME) { body.u64() } else { None }
}

/// Reads a sample; `None` when it is shorter than its event requires.
pub(super) fn parse<'a>(
    order: Order,
    (event, attribute): (u32, &Attribute),
    misc: u16,
    mut body: Bytes<'a>,
    lists: &'a mut Lists,
) -> Option<Sample<'a>> {
    let Lists { chain, registers, awaiters } = lists;
    let mut awaits = None;
    awaiters.clear();
    chain.clear();
    registers.clear();
    let word_if = |part: u64, body: &mut Bytes<'_>| -> Option<Option<u64>> {
        if attribute.has(part) { body.u64().map(Some) } else { Some(None) }
    };
    word_if(part::IDENTIFIER, &mut body)?;
    let ip = word_if(part::IP, &mut body)?;
    let (mut pid, mut tid) = (None, None);
    if attribute.has(part::TID) {
        (pid, tid) = (known(body.u32()?), known(body.u32()?));
    }
    let time_ns = word_if(part::TIME, &mut body)?.unwrap_or(0);
    word_if(part::ADDR, &mut body)?;
    word_if(part::ID, &mut body)?;
    word_if(part::STREAM_ID, &mut body)?;
    let mut cpu = None;
    if attribute.has(part::CPU) {
        (cpu, _) = (known(body.u32()?), body.u32()?);
    }
    let period = word_if(part::PERIOD, &mut body)?.unwrap_or_else(|| attribute.fixed_period());
    if attribute.has(part::READ) {
        skip_read(attribute.read_format, &mut body)?;
    }
    if attribute.has(part::CALLCHAIN) {
        let count = body.u64()?;
        let mut words = order.words(body.take_words(count)?);
        if read_chain(&mut words, context_of(misc), chain) {
            awaits = read_awaits(&mut words, chain.len(), awaiters);
        }
    } else {
        chain.extend(ip.map(|value| Address { value, context: context_of(misc) }));
    }
    skip_raw_and_branches(attribute, &mut body)?;
    let user_registers = read_registers(order, attribute, &mut body, registers)?;
    let (user_stack, user_stack_is_full) = read_stack(attribute, &mut body)?;
    Some(Sample {
        event,
        time_ns,
        pid,
        tid,
        cpu,
        period,
        chain,
        user_registers,
        user_stack,
        user_stack_is_full,
        awaits: awaits.map(|awaits| Awaits { awaiters, ..awaits }),
    })
}

/// The kernel writes -1 where it does not know.
fn known(id: u32) -> Option<u32> {
    (id != u32::MAX).then_some(id)
}

/// What waits for a chain of this length, but for the rows, which go to `awaiters`.
fn read_awaits(
    words: &mut impl Iterator<Item = u64>,
    length: usize,
    awaiters: &mut Vec<u32>,
) -> Option<Awaits<'static>> {
    let resumed = u32::try_from(words.next()?).ok().filter(|count| *count as usize <= length)?;
    let word = words.next()?;
    let end = AwaitEnd::of(word & u64::from(u32::MAX))?;
    for row in words {
        awaiters.push(u32::try_from(row).ok()?);
    }
    let stands_for = ((word >> 32) as u32).checked_sub(1);
    Some(Awaits { resumed, awaiters: &[], end, stands_for })
}

/// Reads addresses; whether what waits for them follows.
fn read_chain(
    words: &mut impl Iterator<Item = u64>,
    mut context: Context,
    chain: &mut Vec<Address>,
) -> bool {
    for value in words {
        if value < CONTEXT_MAX {
            chain.push(Address { value, context });
        } else {
            context = match value {
                CONTEXT_KERNEL => Context::Kernel,
                CONTEXT_USER => Context::User,
                CONTEXT_JAVASCRIPT => Context::JavaScript,
                CONTEXT_CUT => Context::Cut,
                CONTEXT_HYPERVISOR | CONTEXT_GUEST | CONTEXT_GUEST_KERNEL | CONTEXT_GUEST_USER => {
                    Context::Elsewhere
                }
                CONTEXT_AWAITS => return true,
                // What followed a broken frame pointer: what came before it is right.
                _ => return false,
            };
        }
    }
    false
}

fn skip_read(format: u64, body: &mut Bytes<'_>) -> Option<()> {
    let count_of = |bits: &[u64]| bits.iter().filter(|bit| format & **bit != 0).count() as u64;
    let (times, each) =
        (count_of(&[READ_ENABLED, READ_RUNNING]), 1 + count_of(&[READ_ID, READ_LOST]));
    let values = if format & READ_GROUP != 0 { body.u64()? } else { 1 };
    body.take_words(times.checked_add(values.checked_mul(each)?)?)?;
    Some(())
}

fn skip_raw_and_branches(attribute: &Attribute, body: &mut Bytes<'_>) -> Option<()> {
    if attribute.has(part::RAW) {
        let size = body.u32()?;
        body.take(size as usize)?;
    }
    if attribute.has(part::BRANCH_STACK) {
        let count = body.u64()?;
        let index = u64::from(attribute.branch_sample_type & BRANCH_HW_INDEX != 0);
        body.take_words(count.checked_mul(BRANCH_WORDS)?.checked_add(index)?)?;
    }
    Some(())
}

fn read_registers<'a>(
    order: Order,
    attribute: &Attribute,
    body: &mut Bytes<'_>,
    values: &'a mut Vec<u64>,
) -> Option<Option<Registers<'a>>> {
    if !attribute.has(part::REGS_USER) {
        return Some(None);
    }
    // A thread of the kernel has none.
    if body.u64()? == 0 {
        return Some(None);
    }
    let mask = attribute.user_registers;
    values.extend(order.words(body.take_words(u64::from(mask.count_ones()))?));
    Some(Some(Registers { mask, values }))
}

/// The copy of the stack, and whether it filled the room that the kernel had for it. The kernel stops before that where
/// the stack ends, and at a page that was never written to.
fn read_stack<'a>(attribute: &Attribute, body: &mut Bytes<'a>) -> Option<(&'a [u8], bool)> {
    if !attribute.has(part::STACK_USER) {
        return Some((&[], false));
    }
    let size = body.u64()?;
    if size == 0 {
        return Some((&[], false));
    }
    let stack = body.take(usize::try_from(size).ok()?)?;
    let filled = usize::try_from(body.u64()?).ok()?;
    Some((&stack[..filled.min(stack.len())], filled >= stack.len()))
}

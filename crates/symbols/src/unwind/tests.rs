//! Stacks that are made up, and tables that are damaged.

use super::*;

use trace::Registers;

use crate::processes::Processes;

const CODE: u64 = 0x7000_0000;
const STACK: u64 = 0x7fff_0000;

/// The user frames of a sample of a process with generated code from `CODE` on.
fn unwind(mask: u64, values: &[u64], stack: &[u64]) -> Vec<u64> {
    unwind_in(Place::Generated(0), &Sources::nowhere(), Registers { mask, values }, (stack, false))
}

/// The same where the copy of the stack has all the bytes that were asked for.
fn unwind_full(mask: u64, values: &[u64], stack: &[u64]) -> Vec<u64> {
    unwind_in(Place::Generated(0), &Sources::nowhere(), Registers { mask, values }, (stack, true))
}

fn unwind_in(
    place: Place,
    sources: &Sources,
    registers: Registers<'_>,
    (stack, user_stack_is_full): (&[u64], bool),
) -> Vec<u64> {
    let (mut places, mut processes) = (Places::default(), Processes::default());
    let row = processes.row(Some(1));
    processes.map(row, CODE, CODE + 0x10000, places.id(place));
    let mut modules = Modules::default();
    modules.id(b"/lib/some.so", None, None);
    let moment = Moment {
        sources,
        modules: &modules,
        places: &places,
        build_ids: &FxHashMap::default(),
        process: processes.get(row),
        row,
        arch: None,
    };
    let bytes: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
    let sample = Sample {
        event: 0,
        time_ns: 0,
        pid: Some(1),
        tid: Some(1),
        cpu: None,
        period: 1,
        chain: &[],
        user_registers: Some(registers),
        user_stack: &bytes,
        user_stack_is_full,
        awaits: None,
    };
    assert!(wants_unwinding(&sample));
    let mut chain = Vec::new();
    Unwinders::default().unwind(&moment, &sample, &mut chain);
    assert!(chain.len() <= MOST_FRAMES + 2);
    chain.iter().map(|address| address.value).collect()
}

/// bp, sp and ip.
const X86_64: u64 = 0b1_1100_0000;
/// x29, lr, sp and pc.
const AARCH64: u64 = 0b1111 << 29;

#[test]
fn frame_pointers_lead_to_the_root() {
    let stack =
        [1, 2, STACK + 48, CODE + 0x200, 3, 4, STACK + 80, CODE + 0x300, 5, 6, 0, CODE + 0x400];
    let expected = [CODE + 0x100, CODE + 0x1ff, CODE + 0x2ff, CODE + 0x3ff];
    assert_eq!(unwind(X86_64, &[STACK + 16, STACK, CODE + 0x100], &stack), expected);
    let arm = unwind(AARCH64, &[STACK + 16, 7, STACK, CODE + 0x100], &stack);
    assert_eq!(arm, expected[..3], "the outermost frame has no caller to return to");
}

#[test]
fn a_function_without_a_frame_has_its_caller_on_top() {
    let stack = [CODE + 0x180, 2, STACK + 48, CODE + 0x200, 3, 4, 0, 0];
    let expected = [CODE + 0x100, CODE + 0x17f, CODE + 0x1ff];
    assert_eq!(unwind(X86_64, &[STACK + 16, STACK, CODE + 0x100], &stack), expected);
}

/// A chain of `frames` frames, each of two words, behind the first two words.
fn chain(frames: u64) -> Vec<u64> {
    let frame = |at: u64| [STACK + 32 + at * 16, CODE + 0x100 + at % 64 * 16];
    [[1, 2]].into_iter().chain((0..frames).map(frame)).flatten().collect()
}

/// The last frame marks that the stack goes on, where it does and was not copied as a whole.
#[test]
fn a_stack_that_is_deeper_than_its_copy_is_marked() {
    let registers = [STACK + 16, STACK, CODE + 0x100];
    let seen =
        |found: Vec<u64>| (found.len() as u64, found.last() == Some(&(Cut::DeeperThanCopy as u64)));
    let is_cut = |frames: u64| seen(unwind_full(X86_64, &registers, &chain(frames)));
    let is_whole = |frames: u64| seen(unwind(X86_64, &registers, &chain(frames)));
    assert_eq!(is_cut(63), (1 + 63 + 1, true), "1,024 bytes, as many as were asked for");
    assert_eq!(is_cut(62), (1 + 62 + 1, true), "1,008 bytes, likewise");
    // OpenSSL puts its stack pointer at round addresses, so a whole stack may have a round number of bytes, too.
    assert_eq!(is_whole(63), (1 + 63, false), "1,024 bytes, and more were asked for");
    assert_eq!(is_whole(62), (1 + 62, false), "1,008 bytes, likewise");
    let mut whole = chain(63);
    whole[126] = 0;
    let found = unwind_full(X86_64, &[STACK + 16, STACK, CODE + 0x100], &whole);
    assert_eq!(
        (found.len(), found.last().copied()),
        (64, Some(CODE + 0x100 + 62 * 16 - 1)),
        "it has its root"
    );
    // A recursion that is deeper than anything that is shown as a whole, and one that is not.
    assert_eq!(is_whole(4030), (1 + 4030, false));
    assert_eq!(is_cut(9000), (MOST_FRAMES as u64 + 1, true));
}

#[test]
fn callers_that_are_no_code_end_the_stack() {
    let stack = [1, 2, STACK + 48, 0x1234, 3, 4, STACK + 80, CODE + 0x300];
    assert_eq!(unwind(X86_64, &[STACK + 16, STACK, CODE + 0x100], &stack), [CODE + 0x100]);
}

#[test]
fn hostile_registers_do_no_harm() {
    let words = [0, 1, 7, 8, 16, STACK, CODE, 1 << 63, u64::MAX - 16, u64::MAX - 8, u64::MAX];
    let circle = [STACK, CODE + 1, STACK, CODE + 1, STACK + 8, CODE];
    let triples = words.iter().flat_map(|a| words.iter().map(move |b| (*a, *b)));
    for ((bp, sp), ip) in triples.flat_map(|pair| words.map(|ip| (pair, ip))) {
        for stack in [&circle[..], &circle[1..], &[], &[u64::MAX; 9]] {
            assert_eq!(unwind_full(X86_64, &[bp, sp, ip], stack)[0], ip);
            assert_eq!(unwind_full(AARCH64, &[bp, ip, sp, ip], stack)[0], ip);
        }
    }
}

#[test]
fn registers_that_were_not_taken() {
    assert_eq!(unwind(1 << 8, &[CODE], &[0; 4]), [CODE], "only the instruction pointer");
    assert_eq!(unwind(X86_64, &[], &[0; 4]), [0; 0], "values are missing");
    assert_eq!(unwind(u64::MAX, &[9; 64], &[0; 4]), [9]);
    assert_eq!(unwind(0, &[], &[]), [0; 0]);
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::io::{self, Cursor, Read};
    use std::path::Path;

    use super::*;
    use crate::files::{Disk, Files, OpenFile};

    /// The same bytes, whatever is opened.
    struct OneFile(Vec<u8>);

    impl Files for OneFile {
        fn open(&self, _: Option<&Path>, _: &Path) -> io::Result<Box<dyn OpenFile>> {
            Ok(Box::new(Cursor::new(self.0.clone())))
        }
    }

    /// The smallest file with tables that every Linux has is the vDSO.
    #[test]
    fn damaged_tables_do_no_harm() {
        let mut file = Vec::new();
        Disk.vdso().unwrap().read_to_end(&mut file).unwrap();
        let place = Place::File { module: 0, bias: 0u64.wrapping_sub(CODE), executable: true };
        let word =
            |at: u64| if at.is_multiple_of(2) { STACK + (at + 2) * 8 } else { CODE + at * 50 };
        let stack: Vec<u64> = (0..64).map(word).collect();
        let (mut random, mut deepest) = (1u64, 0);
        for round in 0..4000 {
            let mut damaged = file.clone();
            for _ in 0..round % 8 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (random >> 33) as usize % damaged.len();
                damaged[at] = (random >> 16) as u8;
            }
            let sources = Sources { files: Box::new(OneFile(damaged)), ..Sources::nowhere() };
            let ip = CODE + (random >> 40) % file.len() as u64;
            for (mask, values) in [
                (X86_64, &[STACK + 16, STACK, ip][..]),
                (AARCH64, &[STACK + 16, ip, STACK, ip][..]),
            ] {
                deepest = unwind_in(place, &sources, Registers { mask, values }, (&stack, true))
                    .len()
                    .max(deepest);
            }
        }
        assert!(deepest > 3, "nothing was unwound");
    }
}

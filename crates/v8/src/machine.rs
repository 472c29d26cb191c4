//! What differs between the machines that V8 makes code for: addresses, the frame that every function makes, and the
//! instructions around it. Another machine is another row like [`X86_64`], and its loads in [`first_relative_load`].

use std::ops::Range;

/// A machine, as far as walking and naming V8's frames goes.
pub(crate) struct Machine {
    /// Where the memory of a process may be.
    pub(crate) addresses: Range<u64>,
    /// The bytes of a word: of a pointer, a register, a slot of the stack.
    pub(crate) word: u64,
    /// From the frame pointer to the caller's pc. The caller's frame pointer stands at the frame pointer itself.
    pub(crate) caller_pc: i64,
    /// The instructions that make a frame, in each way to write them.
    pub(crate) makes_frame: &'static [&'static [u8]],
    /// How many bytes of these save the caller's frame pointer: behind them the frame is not made yet.
    pub(crate) saves_fp_bytes: usize,
    /// The first byte of each instruction that returns.
    pub(crate) returns: &'static [u8],
    /// Optimised code makes its frame within this many bytes, or it makes none.
    pub(crate) prologue: usize,
    /// The same for WebAssembly, which makes its frame first.
    pub(crate) wasm_prologue: usize,
}

/// The function that is called is in rdi, which `Registers::callee` holds.
const X86_64: Machine = Machine {
    addresses: 0x1000..1 << 47,
    word: 8,
    caller_pc: 8,
    // push rbp; mov rbp, rsp
    makes_frame: &[&[0x55, 0x48, 0x89, 0xe5], &[0x55, 0x48, 0x8b, 0xec]],
    saves_fp_bytes: 1,
    // ret, and ret n
    returns: &[0xc3, 0xc2],
    prologue: 128,
    wasm_prologue: 16,
};

/// The only machine whose V8 is read so far.
pub(crate) const MACHINE: Machine = X86_64;

impl Machine {
    /// Where code begins to make its frame.
    pub(crate) fn makes_frame_at(&self, code: &[u8]) -> Option<usize> {
        (0..code.len())
            .find(|at| self.makes_frame.iter().any(|known| code[*at..].starts_with(known)))
    }
}

/// Where the first load of code lies that is relative to its own address: what `uv_default_loop` loads first is the
/// pointer to the main loop. `at` is the address of the code, of x86-64.
pub fn first_relative_load(code: &[u8], at: u64) -> Option<u64> {
    const LOAD: u8 = 0x8b;
    const LOAD_BYTES: u64 = 7;
    code.windows(LOAD_BYTES as usize).enumerate().find_map(|(offset, window)| {
        let is_load = window[0] & 0xf8 == 0x48 && window[1] == LOAD && window[2] & 0xc7 == 0x05;
        let distance = i32::from_le_bytes(*window.last_chunk()?);
        let next = at.wrapping_add(offset as u64).wrapping_add(LOAD_BYTES);
        is_load.then(|| next.wrapping_add_signed(i64::from(distance)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_made_in_two_ways() {
        assert_eq!(MACHINE.makes_frame_at(&[0x90, 0x55, 0x48, 0x89, 0xe5]), Some(1));
        assert_eq!(MACHINE.makes_frame_at(&[0x55, 0x48, 0x8b, 0xec, 0x90]), Some(0));
        assert_eq!(
            [MACHINE.makes_frame_at(&[0x55, 0x48, 0x8b]), MACHINE.makes_frame_at(&[])],
            [None; 2]
        );
    }

    #[test]
    fn the_first_load_leads_to_the_pointer() {
        // push rbp; mov rbp, rsp; push rbx; sub rsp, 8; mov rbx, [rip + 0x3bacca8]: uv_default_loop of 18.20.8.
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 8, 0x48, 0x8b, 0x1d, 0xa8, 0xcc, 0xba,
            3, 0x48,
        ];
        assert_eq!(first_relative_load(&code, 0x167_4ab0), Some(0x522_1768));
        // mov r12, [rip + …]: that of 20.20.2.
        let code = [0x55, 0x4c, 0x8b, 0x25, 0x87, 0x44, 0xdc, 3];
        assert_eq!(first_relative_load(&code, 0x18a_b559), Some(0x566_f9e8));
        assert_eq!(first_relative_load(&code[..7], 0), None);
    }
}

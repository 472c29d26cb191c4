//! The machines that recordings are of, and the numbers of their registers in a sample: those of the kernel's
//! perf_regs.h. A new machine is a row of [`MACHINES`].

use crate::record::Registers;

/// A machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    /// What `uname -m` calls it, then what others do.
    pub names: &'static [&'static str],
    /// Its registers.
    pub registers: RegisterNumbers,
    /// The registers that a recorder asks for, a bit each: those that lead from frame to frame, and what V8's code
    /// needs to be named.
    pub sampled: u64,
}

/// The registers that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterNumbers {
    /// The instruction that runs.
    pub pc: u32,
    /// The stack pointer.
    pub sp: u32,
    /// The frame pointer.
    pub fp: u32,
    /// Where a call leaves its return address; `None` where that goes to the stack.
    pub link: Option<u32>,
    /// The function that is called, in V8's calling convention.
    pub callee: u32,
}

/// The 64-bit machines of Intel and AMD: rip, rsp, rbp and rdi.
pub const X86_64: Machine = Machine {
    names: &["x86_64"],
    registers: RegisterNumbers { pc: 8, sp: 7, fp: 6, link: None, callee: 5 },
    sampled: 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8,
};

/// The 64-bit machines of ARM: pc, sp, x29, x30 and x1. Names are not read from V8's memory there, so x1 is not
/// sampled.
pub const AARCH64: Machine = Machine {
    names: &["aarch64", "arm64"],
    registers: RegisterNumbers { pc: 32, sp: 31, fp: 29, link: Some(30), callee: 1 },
    sampled: 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32,
};

/// All of them. A machine with more registers has the numbers of the others, too: it comes first.
pub const MACHINES: [&Machine; 2] = [&AARCH64, &X86_64];

/// The machine that this program runs on.
#[cfg(target_arch = "x86_64")]
pub const HERE: &Machine = &X86_64;
/// The machine that this program runs on.
#[cfg(not(target_arch = "x86_64"))]
pub const HERE: &Machine = &AARCH64;

impl Machine {
    /// The machine of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        MACHINES.into_iter().find(|machine| machine.names.contains(&name))
    }

    /// The machine whose registers these are, where nothing else shows that.
    pub fn of(registers: Registers<'_>) -> Option<&'static Self> {
        MACHINES.into_iter().find(|machine| registers.get(machine.registers.pc).is_some())
    }
}

impl Registers<'_> {
    /// The value of a register, where it was taken.
    pub fn get(self, number: u32) -> Option<u64> {
        let bit = 1u64.checked_shl(number)?;
        let row = (self.mask & (bit - 1)).count_ones() as usize;
        self.values.get(row).copied().filter(|_| self.mask & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_found_by_name_and_by_registers() {
        for (name, machine) in
            [("x86_64", Some(&X86_64)), ("arm64", Some(&AARCH64)), ("riscv64", None)]
        {
            assert_eq!(Machine::named(name), machine, "{name}");
        }
        for machine in MACHINES {
            let values = [1, 2, 3, 4];
            let registers = Registers { mask: machine.sampled, values: &values };
            assert_eq!(Machine::of(registers), Some(machine));
            let numbers = machine.registers;
            // The instruction pointer is the last one: code that copies a record relies on that.
            assert_eq!([registers.get(numbers.pc), registers.get(numbers.sp)], [Some(4), Some(3)]);
            assert!(registers.get(numbers.fp).is_some() && registers.get(63).is_none());
        }
        assert_eq!(Machine::of(Registers { mask: 0, values: &[] }), None);
        assert_eq!(Registers { mask: u64::MAX, values: &[7] }.get(64), None);
    }
}

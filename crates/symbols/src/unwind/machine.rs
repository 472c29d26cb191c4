//! What differs between machines when callers are looked for: the unwinder, its registers, and how code calls and
//! jumps. Another machine is a row of [`trace::machine::MACHINES`], a variant here, and a file like `x86_64.rs`.

pub(super) mod x86_64;

use std::sync::Arc;

use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Module, Unwinder};
use trace::Machine;
use trace::machine::{AARCH64, X86_64};

use super::blind::Caller;

/// The unwinder of a process.
pub(super) enum MachineUnwinder {
    X86_64(UnwinderX86_64<Arc<[u8]>>),
    Aarch64(UnwinderAarch64<Arc<[u8]>>),
}

/// What unwinders remember of all processes.
#[derive(Default)]
pub(super) struct Caches {
    pub(super) x86_64: CacheX86_64,
    pub(super) aarch64: CacheAarch64,
}

impl MachineUnwinder {
    pub(super) fn new(machine: &Machine) -> Self {
        if *machine == AARCH64 {
            Self::Aarch64(UnwinderAarch64::new())
        } else {
            Self::X86_64(UnwinderX86_64::new())
        }
    }

    pub(super) fn add_module(&mut self, module: Module<Arc<[u8]>>) {
        match self {
            Self::X86_64(unwinder) => unwinder.add_module(module),
            Self::Aarch64(unwinder) => unwinder.add_module(module),
        }
    }

    /// The machine that it is for.
    pub(super) fn machine(&self) -> &'static Machine {
        match self {
            Self::X86_64(_) => &X86_64,
            Self::Aarch64(_) => &AARCH64,
        }
    }
}

/// The bits of an address on arm64; those above may hold a signature of it.
const AARCH64_ADDRESS: PtrAuthMask = PtrAuthMask(u64::MAX >> 16);

/// The registers of arm64 from which to start.
pub(super) fn aarch64_registers(lr: u64, sp: u64, fp: u64) -> UnwindRegsAarch64 {
    UnwindRegsAarch64::new_with_ptr_auth_mask(AARCH64_ADDRESS, lr, sp, fp)
}

/// The registers that matter to an unwinder.
pub(super) trait FrameOf {
    fn frame_pointer(&self) -> u64;

    /// The stack pointer and the frame pointer, where code without tables or with expressions in them is understood.
    fn pointers(&self) -> Option<(u64, u64)> {
        None
    }

    /// Goes to a caller that was found by other means.
    fn go_to(&mut self, _caller: Caller) {}
}

impl FrameOf for UnwindRegsX86_64 {
    fn frame_pointer(&self) -> u64 {
        self.bp()
    }

    fn pointers(&self) -> Option<(u64, u64)> {
        Some((self.sp(), self.bp()))
    }

    fn go_to(&mut self, Caller { pc, sp, fp }: Caller) {
        *self = Self::new(pc, sp, fp);
    }
}

impl FrameOf for UnwindRegsAarch64 {
    fn frame_pointer(&self) -> u64 {
        self.fp()
    }
}

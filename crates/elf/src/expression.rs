//! The caller of a function whose tables compute its frame: assembler that aligns its stack keeps the old stack pointer
//! somewhere on it, and the frame of a signal lies where the kernel has put it. Only x86-64 has such code that matters.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, Encoding, EndianSlice, EvaluationResult,
    LittleEndian, Location, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
    Value, X86_64,
};

use crate::unwind::Table;

/// The registers of a frame that lead to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRegisters {
    /// The instruction.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub fp: u64,
}

/// The tables of a file, as [`crate::UnwindTables`] has them.
#[derive(Clone, Copy, Debug)]
pub struct FrameTables<'a> {
    /// .eh_frame_hdr.
    pub index: Table<'a>,
    /// .eh_frame.
    pub frames: Table<'a>,
    /// Where .text begins.
    pub text: u64,
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Expressions that compilers write have five operations.
const MOST_OPERATIONS: u32 = 64;

/// What an expression leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The caller.
    Caller(FrameRegisters),
    /// What it needs is not there: OpenSSL keeps the old stack pointer below the new one. But the caller's frame
    /// pointer was saved at this distance from where the stack pointer was before the call.
    Saved(i64),
}

/// The caller of the function at an address of the file. `read` gives words of the stack.
pub fn caller_by_expression(
    tables: &FrameTables<'_>,
    address: u64,
    registers: FrameRegisters,
    read: &dyn Fn(u64) -> Option<u64>,
) -> Option<Found> {
    let bases = BaseAddresses::default()
        .set_eh_frame_hdr(tables.index.address)
        .set_eh_frame(tables.frames.address)
        .set_text(tables.text);
    let mut frames = EhFrame::new(tables.frames.bytes, LittleEndian);
    frames.set_address_size(8);
    let index = EhFrameHdr::new(tables.index.bytes, LittleEndian).parse(&bases, 8).ok()?;
    let function =
        index.table()?.fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset).ok()?;
    let mut context = UnwindContext::new();
    let row = function.unwind_info_for_address(&frames, &bases, &mut context, address).ok()?;
    let frame = Frame { frames, encoding: function.cie().encoding(), registers, read };
    let (saved_pc, saved_fp) = (row.register(X86_64::RA), row.register(X86_64::RBP));
    let sp = match row.cfa() {
        CfaRule::Expression(expression) => frame.evaluate(expression, None),
        CfaRule::RegisterAndOffset { register, offset } => {
            frame.register(*register).and_then(|value| value.checked_add_signed(*offset))
        }
    };
    let caller = sp.filter(|sp| *sp > registers.sp).and_then(|sp| {
        let fp = frame.saved(saved_fp.as_ref(), sp, Some(registers.fp))?;
        Some(FrameRegisters { pc: frame.saved(saved_pc.as_ref(), sp, None)?, sp, fp })
    });
    match saved_fp {
        _ if caller.is_some() => caller.map(Found::Caller),
        Some(RegisterRule::Offset(distance)) => Some(Found::Saved(distance)),
        _ => None,
    }
}

struct Frame<'a> {
    frames: EhFrame<Bytes<'a>>,
    encoding: Encoding,
    registers: FrameRegisters,
    read: &'a dyn Fn(u64) -> Option<u64>,
}

impl Frame<'_> {
    fn register(&self, register: Register) -> Option<u64> {
        match register {
            X86_64::RSP => Some(self.registers.sp),
            X86_64::RBP => Some(self.registers.fp),
            X86_64::RA => Some(self.registers.pc),
            _ => None,
        }
    }

    /// What the caller had in a register.
    fn saved(
        &self,
        rule: Option<&RegisterRule<usize>>,
        sp: u64,
        unchanged: Option<u64>,
    ) -> Option<u64> {
        match rule {
            None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => unchanged,
            Some(RegisterRule::Offset(offset)) => (self.read)(sp.checked_add_signed(*offset)?),
            Some(RegisterRule::ValOffset(offset)) => sp.checked_add_signed(*offset),
            Some(RegisterRule::Expression(expression)) => {
                (self.read)(self.evaluate(expression, Some(sp))?)
            }
            Some(RegisterRule::ValExpression(expression)) => self.evaluate(expression, Some(sp)),
            Some(_) => None,
        }
    }

    fn evaluate(&self, expression: &UnwindExpression<usize>, first: Option<u64>) -> Option<u64> {
        let mut evaluation = expression.get(&self.frames).ok()?.evaluation(self.encoding);
        evaluation.set_max_iterations(MOST_OPERATIONS);
        if let Some(first) = first {
            evaluation.set_initial_value(first);
        }
        let mut result = evaluation.evaluate().ok()?;
        for _ in 0..MOST_OPERATIONS {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => evaluation
                    .resume_with_register(Value::Generic(self.register(register)?))
                    .ok()?,
                EvaluationResult::RequiresMemory { address, size: 8, space: None, .. } => {
                    evaluation.resume_with_memory(Value::Generic((self.read)(address)?)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.as_result().last()?.location {
            Location::Address { address } => Some(address),
            _ => None,
        }
    }
}

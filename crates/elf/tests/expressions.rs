//! Functions of the real node whose tables compute the caller's frame: OpenSSL's assembler.

use std::fs;
use std::process::Command;

use elf::{Elf, Found, FrameRegisters, FrameTables, caller_by_expression};

use crate::skip::skip;

const SP: u64 = 0x7fff_0000;
const ASSEMBLER: &[u8] = b"sha512_block_data_order_avx2";

#[test]
fn callers_are_found_or_known_to_be_saved() {
    let node = Command::new("node").args(["-p", "process.execPath"]).output();
    let Ok(node) = node else { return skip("expressions: there is no node here") };
    let Ok(bytes) = fs::read(String::from_utf8_lossy(&node.stdout).trim()) else {
        return skip("expressions: node cannot be read here");
    };
    let elf = Elf::parse(&bytes[..]).unwrap();
    let Some(tables) = elf.unwind_tables() else {
        return skip("expressions: node has no tables here");
    };
    let all = FrameTables { index: tables.index, frames: tables.frames, text: tables.text };
    let registers = FrameRegisters { pc: 1, sp: SP, fp: SP + 64 };
    // Every word contains where it stands, and leads upwards.
    let read = |at: u64| (SP..SP + 4096).contains(&at).then_some(at + 256);
    let (mut callers, mut saved) = (0, 0);
    for address in tables.expressions.iter().flat_map(|function| function.clone().step_by(7)) {
        match caller_by_expression(&all, address, registers, &read) {
            Some(Found::Caller(caller)) => {
                assert!(caller.sp > SP, "{address:#x}: {caller:x?}");
                callers += 1;
            }
            Some(Found::Saved(distance)) => {
                assert!((-256..0).contains(&distance), "{address:#x}: {distance}");
                saved += 1;
            }
            None => {}
        }
    }
    println!("{} functions: {callers} callers, {saved} saved", tables.expressions.len());
    let is_known = bytes.windows(ASSEMBLER.len()).any(|name| name == ASSEMBLER);
    assert!(!is_known || callers > 0 && saved > 0, "{callers} and {saved}");
}

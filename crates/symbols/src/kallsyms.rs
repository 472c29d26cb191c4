//! The kernel's own list of its functions: `ffffffff81000000 T _stext`, a module's name in brackets behind.

use std::io::{self, Read};

use crate::lines::{each_line, split_hex};

/// The kernel's functions by address.
#[derive(Default)]
pub(crate) struct Kallsyms {
    /// Sorted by address; among aliases the last one counts, as for perf.
    rows: Vec<Row>,
    /// All names and modules, one behind the other.
    text: String,
    /// Whether there were lines, but all addresses were hidden.
    pub(crate) hidden: bool,
}

#[derive(Clone, Copy)]
struct Row {
    address: u64,
    start: u32,
    middle: u32,
    end: u32,
}

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelSymbol<'a> {
    pub(crate) name: &'a str,
    /// `[nf_tables]`
    pub(crate) module: &'a str,
}

/// The module of what belongs to none.
pub(crate) const KERNEL: &str = "[kernel.kallsyms]";

/// A real kernel has some ten megabytes.
const LONGEST_TEXT: usize = 1 << 28;

/// How far the last function of a module may reach.
const PAGE: u64 = 4096;

impl Kallsyms {
    /// Reads the list.
    pub(crate) fn read(input: impl Read) -> io::Result<Self> {
        let mut all = Self::default();
        let mut lines = 0u64;
        each_line(input, |line| {
            let Some((address, kind, name, module)) = parse(line) else { return };
            lines += 1;
            let is_code = matches!(kind, b't' | b'T' | b'w' | b'W');
            if is_code && address != 0 && all.text.len() < LONGEST_TEXT {
                all.push(address, name, module);
            }
        })?;
        all.hidden = lines > 0 && all.rows.is_empty();
        all.rows.sort_by_key(|row| row.address);
        Ok(all)
    }

    fn push(&mut self, address: u64, name: &[u8], module: &[u8]) {
        let start = self.text.len() as u32;
        self.text.push_str(&String::from_utf8_lossy(name));
        let middle = self.text.len() as u32;
        self.text.push_str(&String::from_utf8_lossy(module));
        self.rows.push(Row { address, start, middle, end: self.text.len() as u32 });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The function at an address.
    pub(crate) fn find(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let next = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows.get(next.checked_sub(1)?)?;
        let symbol = self.symbol(row);
        // The last function of a module does not reach over to the next.
        let is_last =
            self.rows.get(next).is_none_or(|next| self.symbol(next).module != symbol.module);
        (!is_last || address - row.address < 2 * PAGE - row.address % PAGE).then_some(symbol)
    }

    /// Where a function starts.
    pub(crate) fn address_of(&self, name: &str) -> Option<u64> {
        self.rows.iter().find(|row| self.symbol(row).name == name).map(|row| row.address)
    }

    fn symbol(&self, row: &Row) -> KernelSymbol<'_> {
        let name = &self.text[row.start as usize..row.middle as usize];
        let module = &self.text[row.middle as usize..row.end as usize];
        KernelSymbol { name, module: if module.is_empty() { KERNEL } else { module } }
    }
}

/// Address, kind, name and module.
fn parse(line: &[u8]) -> Option<(u64, u8, &[u8], &[u8])> {
    let (address, rest) = split_hex(line)?;
    let (kind, rest) = rest.split_first()?;
    let rest = rest.strip_prefix(b" ")?.trim_ascii_end();
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let (name, module) = rest.split_at(end);
    Some((address, *kind, name, module.trim_ascii())).filter(|_| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000100 t inner\n\
        ffffffff81000180 d data\nffffffff81000200 W weak\nffffffffc0001000 t nft_do_chain\t[nf_tables]\n";

    #[test]
    fn functions_reach_to_the_next() {
        let all = Kallsyms::read(TEXT.as_bytes()).unwrap();
        let name = |address| all.find(address).map(|symbol| (symbol.name, symbol.module));
        assert_eq!(name(0xffff_ffff_8100_0010), Some(("_text", KERNEL)));
        assert_eq!(name(0xffff_ffff_8100_0190), Some(("inner", KERNEL)));
        assert_eq!(name(0xffff_ffff_8100_1fff), Some(("weak", KERNEL)));
        assert_eq!(name(0xffff_ffff_8100_2000), None);
        assert_eq!(name(0xffff_ffff_c000_1004), Some(("nft_do_chain", "[nf_tables]")));
        assert_eq!(name(0xffff_ffff_c000_4000), None);
        assert_eq!(name(0x1000), None);
        assert_eq!(all.address_of("_stext"), Some(0xffff_ffff_8100_0000));
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        let all =
            Kallsyms::read(&b"0000000000000000 T _stext\n0000000000000000 t a\n"[..]).unwrap();
        assert!(all.hidden && all.is_empty() && all.find(0).is_none());
        let none = Kallsyms::read(&b"nonsense\n"[..]).unwrap();
        assert!(!none.hidden && none.is_empty());
    }
}

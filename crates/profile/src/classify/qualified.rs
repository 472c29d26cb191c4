//! The qualified name of a C++ symbol, mangled or demangled, without return type, parameters, template
//! arguments and anonymous namespaces: what the rules look at. `_ZN2v88internal4Heap8ScavengeEv` and
//! `void v8::internal::Heap::Scavenge()` are both `v8::internal::Heap::Scavenge`. Not a demangler: it reads
//! the leading names and stops at the first thing it need not understand.

/// Longer names are cut: the rules look at the front.
const CAPACITY: usize = 128;

/// A qualified name on the stack.
pub(super) struct Qualified {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Qualified {
    /// The qualified name of a symbol; of a C symbol, the symbol.
    pub(super) fn of(symbol: &str) -> Self {
        let mut path = Qualified { bytes: [0; CAPACITY], length: 0 };
        match symbol.strip_prefix("_Z") {
            Some(mangled) => path.read_mangled(mangled.as_bytes()),
            None => path.read_demangled(symbol.as_bytes()),
        }
        path
    }

    /// The qualified name that a part of a mangled symbol begins with: `4Heap8ScavengeE…`.
    pub(super) fn of_mangled_names(part: &str) -> Self {
        let mut path = Qualified { bytes: [0; CAPACITY], length: 0 };
        path.read_mangled(part.as_bytes());
        path
    }

    pub(super) fn as_str(&self) -> &str {
        // A cut can fall inside a character, and so can a hostile mangled length.
        let bytes = &self.bytes[..self.length];
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = CAPACITY.min(self.length + bytes.len());
        let room = &mut self.bytes[self.length..end];
        room.copy_from_slice(&bytes[..room.len()]);
        self.length = end;
    }

    fn push_byte(&mut self, byte: u8) {
        if let Some(room) = self.bytes.get_mut(self.length) {
            *room = byte;
            self.length += 1;
        }
    }

    fn ends_with(&self, text: &str) -> bool {
        self.bytes[..self.length].ends_with(text.as_bytes())
    }

    fn read_demangled(&mut self, symbol: &[u8]) {
        let mut depth = 0_usize;
        let mut position = 0;
        while let Some(&byte) = symbol.get(position) {
            match byte {
                b'<' if !self.ends_with("operator") => depth += 1,
                b'>' if depth > 0 => depth -= 1,
                _ if depth > 0 => {}
                b'>' | b',' if !self.ends_with("operator") => return, // a template's argument ends here
                b'(' if symbol[position..].starts_with(ANONYMOUS) => {
                    position += ANONYMOUS.len() - 1;
                }
                b'(' => return,
                b' ' if self.ends_with("operator") => return,
                b' ' if matches!(symbol.get(position + 1), Some(b'[' | b'>')) => return, // [clone .cold]
                b' ' => self.length = 0, // that was a return type, or `non-virtual thunk to`
                _ => self.push_byte(byte),
            }
            position += 1;
        }
    }

    /// `N2v88internal4HeapE`: lengths and names. Thunks (`Thn16_N…`) and local names (`ZN…E…`) lead to such a
    /// list; a C++ function outside every namespace is a single pair.
    fn read_mangled(&mut self, mangled: &[u8]) {
        let mut rest = after_thunk(mangled);
        while let [b'N' | b'Z' | b'K' | b'V' | b'r' | b'L', after @ ..] = rest {
            rest = after;
        }
        if let Some(after) = rest.strip_prefix(b"St") {
            self.push(b"std");
            rest = after;
        }
        while let Some((name, after)) = split_name(rest) {
            if name != GLOBAL {
                if self.length > 0 {
                    self.push(b"::");
                }
                self.push(name);
            }
            rest = after;
        }
    }
}

/// `::` follows it, and the one before it stays.
const ANONYMOUS: &[u8] = b"(anonymous namespace)::";

/// How a mangled name spells an anonymous namespace.
const GLOBAL: &[u8] = b"_GLOBAL__N_1";

/// `Thn16_` and `Tv0_n24_` stand before the name of a thunk.
fn after_thunk(mangled: &[u8]) -> &[u8] {
    match mangled {
        [b'T', b'h' | b'v' | b'c', rest @ ..] => {
            let name = rest.iter().position(|byte| *byte == b'N');
            name.map_or(rest, |start| &rest[start..])
        }
        _ => mangled,
    }
}

/// A decimal length and that many bytes.
fn split_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    text[digits..].split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_names() {
        let rows: &[(&str, &str)] = &[
            ("", ""),
            ("uv__io_poll", "uv__io_poll"),
            ("deflate.part.0", "deflate.part.0"),
            ("v8::internal::Heap::Scavenge", "v8::internal::Heap::Scavenge"),
            ("v8::internal::Heap::Scavenge()", "v8::internal::Heap::Scavenge"),
            ("_ZN2v88internal4Heap8ScavengeEv", "v8::internal::Heap::Scavenge"),
            ("_ZNK2v88internal4Heap8ContainsENS0_6ObjectE", "v8::internal::Heap::Contains"),
            ("_ZN2v88internal12_GLOBAL__N_16InvokeEPNS0_7IsolateE", "v8::internal::Invoke"),
            ("v8::internal::(anonymous namespace)::Invoke", "v8::internal::Invoke"),
            ("_ZThn32_N4node15LibuvStreamWrap9ReadStartEv", "node::LibuvStreamWrap::ReadStart"),
            ("_ZTv0_n24_N4node3FooD1Ev", "node::Foo"),
            (
                "non-virtual thunk to node::LibuvStreamWrap::ReadStart()",
                "node::LibuvStreamWrap::ReadStart",
            ),
            (
                "_ZZN4node15LibuvStreamWrap9ReadStartEvENUlvE_4_FUNEv",
                "node::LibuvStreamWrap::ReadStart",
            ),
            (
                "node::LibuvStreamWrap::ReadStart()::{lambda(int)#2}::_FUN",
                "node::LibuvStreamWrap::ReadStart",
            ),
            (
                "void v8::internal::Visit<v8::internal::compiler::A, (B)2>(int)",
                "v8::internal::Visit",
            ),
            (
                "v8::internal::MarkingVisitorBase<v8::internal::X<int> >::Visit",
                "v8::internal::MarkingVisitorBase::Visit",
            ),
            ("_ZNSt6vectorIN2v85LocalEE3addEv", "std::vector"),
            ("node::Start(int, char**) [clone .cold]", "node::Start"),
            ("node::Start [clone .cold]", "node::Start"),
            ("ZoneAllocator<bool> >::push_back", "ZoneAllocator"),
            ("operator new", "operator"),
            ("v8::internal::operator<(int, int)", "v8::internal::operator<"),
            ("heap::base::Stack::Set<v8::internal::Heap::CollectGarbage", "heap::base::Stack::Set"),
            ("_ZL6workerPv", "worker"),
            ("_Z3foov", "foo"),
            ("_ZN99999999999999999999foo", ""),
            ("_ZN9foo", ""),
            ("_Z", ""),
        ];
        for (symbol, path) in rows {
            assert_eq!(Qualified::of(symbol).as_str(), *path, "{symbol}");
        }
    }

    #[test]
    fn cuts_between_characters() {
        let symbol = "ü".repeat(CAPACITY);
        assert_eq!(Qualified::of(&symbol).as_str().len(), CAPACITY);
        assert_eq!(Qualified::of(&format!("x{symbol}")).as_str().len(), CAPACITY - 1);
    }
}

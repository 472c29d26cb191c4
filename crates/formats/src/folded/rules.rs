//! How a frame is spelt in folded output: the rules of stackcollapse-perf.pl, which people compare with.
//! They damage some names (everything behind the first parenthesis goes), so they live here and nowhere
//! else: the model keeps names whole.

use profile::classify::module_file_name;

use naming::generated::{JIT_MODULE, is_generated_code};

/// A frame as the recording wrote it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling<'a> {
    pub(super) symbol: &'a str,
    pub(super) module: &'a str,
    pub(super) address: u64,
    /// Whether the thread is a Java one: their names lose a leading L.
    pub(super) java: bool,
}

/// Which marks are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The pid behind the process name.
    pub pid: bool,
    /// Pid and thread id behind the process name.
    pub tid: bool,
    /// `_[k]` behind kernel functions.
    pub kernel: bool,
    /// `_[j]` behind generated code.
    pub jit: bool,
    /// The address where there is no name.
    pub addresses: bool,
}

/// The names that a frame becomes, caller first: none, one, or several where `->` joins inlined functions.
pub(super) fn names(frame: &Spelling<'_>, options: &Options) -> Vec<String> {
    if frame.symbol.starts_with('(') {
        return Vec::new();
    }
    let part = |(row, part): (usize, &str)| {
        let name = if part == "[unknown]" { unknown(frame, options) } else { part.to_owned() };
        let name = tidy(&name, frame.java);
        let mark = mark(frame.module, row > 0, options);
        if mark.is_empty() || (mark != "_[k]" && name.contains(mark)) { name } else { name + mark }
    };
    let mut parts: Vec<&str> = frame.symbol.split("->").collect();
    while parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    parts.into_iter().enumerate().map(part).collect()
}

fn unknown(frame: &Spelling<'_>, options: &Options) -> String {
    let name = match frame.module {
        "[unknown]" | "" => "unknown",
        JIT_MODULE => return JIT_MODULE.to_owned(),
        path => module_file_name(path),
    };
    if options.addresses { format!("[{name} <{:x}>]", frame.address) } else { format!("[{name}]") }
}

fn tidy(name: &str, java: bool) -> String {
    let mut name = if name.contains(';') { name.replace(';', ":") } else { name.to_owned() };
    if !looks_like_go_method(&name)
        && let Some(end) = first_parenthesis(&name)
    {
        name.truncate(end);
    }
    if name.contains(['"', '\'']) {
        name.retain(|character| character != '"' && character != '\'');
    }
    if java && name.contains('/') && name.starts_with('L') {
        name.remove(0);
    }
    without_control(name)
}

/// `net/http.(*Client).Do`: the parentheses belong to the name.
fn looks_like_go_method(name: &str) -> bool {
    name.find(".(").is_some_and(|open| name[open..].contains(")."))
}

fn first_parenthesis(name: &str) -> Option<usize> {
    name.match_indices('(')
        .map(|(at, _)| at)
        .find(|at| !name[*at..].starts_with("(anonymous namespace)"))
}

fn mark(module: &str, inlined: bool, options: &Options) -> &'static str {
    let is_kernel = (module.starts_with('[') || module.ends_with("vmlinux"))
        && !module.contains("unknown")
        && module != JIT_MODULE;
    match () {
        () if inlined => "_[i]",
        () if options.kernel && is_kernel => "_[k]",
        () if options.jit && (module == JIT_MODULE || is_generated_code(module)) => "_[j]",
        () => "",
    }
}

/// A name must stay on its line, and must not control a terminal.
pub(super) fn without_control(name: String) -> String {
    // All control characters have one of these bytes; hardly any name has.
    let may_have = |byte: u8| byte < b' ' || byte == 0x7f || byte == 0xc2;
    if !name.bytes().any(may_have) {
        return name;
    }
    name.chars()
        .map(|character| if character.is_control() { '\u{fffd}' } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(symbol: &str, module: &str, options: &Options) -> String {
        names(&Spelling { symbol, module, address: 0x7f00, java: false }, options).join(";")
    }

    #[test]
    fn names_are_spelt_as_stackcollapse_does() {
        let all = Options { kernel: true, jit: true, ..Options::default() };
        let rows = [
            ("foo", "/usr/bin/node", "foo"),
            ("[unknown]", "/usr/lib/libc.so.6", "[libc.so.6]"),
            ("[unknown]", "/usr/bin/node (deleted)", "[node]"),
            ("[unknown]", "[unknown]", "[unknown]"),
            ("tcp_sendmsg", "[kernel.kallsyms]", "tcp_sendmsg_[k]"),
            ("tcp_sendmsg", "/lib/modules/4.3/build/vmlinux", "tcp_sendmsg_[k]"),
            ("LazyCompile:~foo /a.js:1", "/tmp/perf-12.map", "LazyCompile:~foo /a.js:1_[j]"),
            ("RegExp:[&<>\"']", "/tmp/perf-12.map", "RegExp:[&<>]_[j]"),
            ("v8::internal::Foo(int, char)", "/usr/bin/node", "v8::internal::Foo"),
            ("(anonymous namespace)::foo(int)", "/usr/bin/node", ""),
            (
                "node::(anonymous namespace)::foo(int)",
                "/usr/bin/node",
                "node::(anonymous namespace)::foo",
            ),
            ("net/http.(*Client).Do", "/usr/bin/go", "net/http.(*Client).Do"),
            ("a->b->c", "/tmp/perf-12.map", "a_[j];b_[i];c_[i]"),
            ("(java)", "/usr/bin/java", ""),
        ];
        for (symbol, module, expected) in rows {
            assert_eq!(folded(symbol, module, &all), expected, "{symbol}");
        }
    }

    #[test]
    fn addresses_stand_where_names_are_missing() {
        let options = Options { addresses: true, ..Options::default() };
        assert_eq!(folded("[unknown]", "/usr/lib/libc.so.6", &options), "[libc.so.6 <7f00>]");
        assert_eq!(folded("[unknown]", "[unknown]", &options), "[unknown <7f00>]");
    }
}

//! How a symbol and a thread enter a profile, the same for every importer.

use std::borrow::Cow;

use profile::{
    Builder, Category, Frame, FrameId, Function, FunctionId, ModuleId, NO_ADDRESS, Process, Role,
    SourceId, StringId, Thread, ThreadId, Tier, classify,
};

use crate::generated::module_of;
use crate::name::{Named, name};

/// What a symbol became: the parts of a frame that do not depend on the address.
#[derive(Clone, Copy, Debug)]
pub struct NamedSymbol {
    /// Its function.
    pub function: FunctionId,
    /// Where it belongs.
    pub category: Category,
    /// What compiled it.
    pub tier: Tier,
    /// The text as written.
    pub symbol: StringId,
}

/// What `perf script` writes for a symbol with an empty name.
const NAMELESS: &str = " ";

/// Names a symbol in a module and adds its function.
pub fn symbol(
    builder: &mut Builder,
    symbol: &str,
    module: Option<&str>,
    build_id: Option<&str>,
) -> NamedSymbol {
    let meaning = if symbol == NAMELESS { "[unknown]" } else { symbol };
    let named = name(meaning, module);
    let module =
        module.map_or(ModuleId::NONE, |name| builder.module(module_of(symbol, name), build_id));
    let function = function(builder, &named, module);
    NamedSymbol {
        function,
        category: named.category,
        tier: named.tier,
        symbol: builder.string(symbol),
    }
}

/// Adds the function that a name means.
pub fn function(builder: &mut Builder, named: &Named<'_>, module: ModuleId) -> FunctionId {
    let function = Function {
        name: builder.string(&named.function),
        source: named.source.map_or(SourceId::NONE, |path| builder.source(path)),
        line: named.line,
        column: named.column,
        module,
        package: builder.optional_string(named.package),
        version: StringId::NONE,
    };
    builder.function(function)
}

/// Adds a frame without an address, and its function.
pub fn frame(
    builder: &mut Builder,
    named: &Named<'_>,
    module: ModuleId,
    written: &Written<'_>,
) -> FrameId {
    let frame = Frame {
        function: function(builder, named, module),
        line: 0,
        column: 0,
        category: named.category,
        tier: named.tier,
        inlined: written.inlined,
        address: NO_ADDRESS,
        symbol: builder.string(written.symbol),
    };
    builder.frame(frame)
}

/// A frame as an input spells it.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// The text.
    pub symbol: &'a str,
    /// Whether it stands for a call that was compiled into its caller.
    pub inlined: bool,
}

/// Adds a thread of a process of which only the pid is known.
pub fn thread(builder: &mut Builder, pid: Option<u32>, tid: Option<u32>, name: &str) -> ThreadId {
    let process = Process { pid, ..Process::default() };
    thread_of(builder, process, tid, name)
}

/// The role of a thread that has had several names: the first that has one.
pub fn role_of_names<'a>(
    pid: Option<u32>,
    tid: Option<u32>,
    mut names: impl Iterator<Item = Cow<'a, str>>,
) -> Option<Role> {
    let is_main = pid.and_then(|pid| Some(pid == tid?));
    names.find_map(|name| classify::role_of_thread(&name, is_main))
}

/// Adds a thread under a name, with the role that its name implies.
pub fn thread_of(
    builder: &mut Builder,
    process: Process,
    tid: Option<u32>,
    name: &str,
) -> ThreadId {
    let is_main = process.pid.and_then(|pid| Some(pid == tid?));
    let thread = Thread {
        process: builder.process(process),
        tid,
        name: builder.string(name),
        role: classify::role_of_thread(name, is_main).unwrap_or(Role::Other),
    };
    builder.thread(thread)
}

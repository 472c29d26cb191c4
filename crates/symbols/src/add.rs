//! How a symbol and a thread enter a profile, the same for every importer.

use profile::{
    Builder, Category, Function, FunctionId, ModuleId, Process, Role, SourceId, StringId, Thread, ThreadId,
    Tier, classify,
};

use crate::generated::module_of;
use crate::naming;

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
    let named = naming::name(meaning, module);
    let function = Function {
        name: builder.string(&named.function),
        source: named.source.map_or(SourceId::NONE, |path| builder.source(path)),
        line: named.line,
        column: named.column,
        module: module.map_or(ModuleId::NONE, |name| builder.module(module_of(symbol, name), build_id)),
        package: builder.optional_string(named.package),
    };
    let function = builder.function(function);
    NamedSymbol { function, category: named.category, tier: named.tier, symbol: builder.string(symbol) }
}

/// Adds a thread under a name, with the role that its name tells.
pub fn thread(builder: &mut Builder, pid: Option<u32>, tid: Option<u32>, name: &str) -> ThreadId {
    let process = Process {
        pid,
        inner_pid: None,
        name: StringId::NONE,
        container: StringId::NONE,
        node_version: StringId::NONE,
    };
    let is_main = pid.and_then(|pid| Some(pid == tid?));
    let thread = Thread {
        process: builder.process(process),
        tid,
        name: builder.string(name),
        role: classify::role_of_thread(name, is_main).unwrap_or(Role::Other),
    };
    builder.thread(thread)
}

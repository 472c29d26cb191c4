//! Native code by its symbol and its module. The module decides where it can (the kernel, a library, an
//! addon); inside Node's binary, and where no module is known (folded stacks), the symbol does.

use super::{
    Class, is_unknown,
    module::{Home, home_of},
    package::package_of,
    qualified::Qualified,
    role::role_of_thread,
    v8::category_of_v8,
};
use crate::category::Category;

/// The class of a symbol, which may be unknown, in a module, which may be unknown too.
pub(super) fn class_of<'a>(symbol: &str, module: Option<&'a str>) -> Class<'a> {
    let home = module.map_or(Home::Nowhere, home_of);
    let package = if home == Home::Addon { module.and_then(package_of) } else { None };
    Class { category: category_of(symbol, home), package }
}

fn category_of(symbol: &str, home: Home) -> Category {
    match home {
        Home::Kernel if is_idle(symbol) => Category::Idle,
        Home::Kernel => Category::Kernel,
        Home::Addon => Category::Addon,
        Home::Libuv => Category::Libuv,
        Home::System if is_unknown(symbol) => Category::System,
        Home::System => category_of_symbol(symbol).unwrap_or(Category::System),
        Home::Node | Home::Generated | Home::Nowhere if is_unknown(symbol) => Category::Unknown,
        Home::Node if symbol == LIBUV_POOL => Category::Libuv,
        Home::Node => category_of_symbol(symbol).unwrap_or(Category::NodeCore),
        Home::Generated if looks_like_stub(symbol) => Category::Builtin,
        Home::Generated => category_of_symbol(symbol).unwrap_or(Category::Unknown),
        Home::Nowhere => category_of_symbol(symbol).unwrap_or_else(|| category_of_homeless(symbol)),
    }
}

/// A frame of a folded stack. Its root is a thread's name.
fn category_of_homeless(symbol: &str) -> Category {
    if is_idle(symbol) {
        return Category::Idle;
    }
    if symbol == LIBUV_POOL {
        return Category::Libuv;
    }
    let is_node_thread = || role_of_thread(symbol, Some(true)).is_some();
    find(HOMELESS, symbol).unwrap_or(if is_node_thread() {
        Category::NodeCore
    } else {
        Category::Unknown
    })
}

/// libuv's pool threads run a static function of this plain name.
const LIBUV_POOL: &str = "worker";

/// The rest of a stub's name, when V8 put a line break into it (Node 0.11 to 6).
fn looks_like_stub(symbol: &str) -> bool {
    symbol.ends_with("Stub") || symbol.contains("Stub(")
}

fn is_idle(symbol: &str) -> bool {
    IDLE.iter().any(|start| symbol.starts_with(start))
}

/// How the kernel's functions of an idle CPU begin. Not every xen_hypercall_ is: others run in any process.
const IDLE: &[&str] = &[
    "do_idle",
    "cpuidle",
    "cpu_idle",
    "cpu_startup_entry",
    "cpu_bringup_and_idle",
    "call_cpuidle",
    "intel_idle",
    "acpi_idle",
    "acpi_processor_ffh_cstate_enter",
    "acpi_safe_halt",
    "default_idle",
    "default_enter_idle",
    "arch_cpu_idle",
    "amd_e400_idle",
    "mwait_idle",
    "poll_idle",
    "haltpoll",
    "native_safe_halt",
    "pv_native_safe_halt",
    "xen_safe_halt",
    "xen_hypercall_sched_op",
    "psci_enter_idle",
    "cpu_do_idle",
];

/// The category that a symbol implies wherever it is; `None` when it implies none.
fn category_of_symbol(symbol: &str) -> Option<Category> {
    let path = Qualified::of(symbol);
    let path = path.as_str();
    if let Some(name) = path.strip_prefix("v8::internal::") {
        return Some(category_of_v8(name));
    }
    if let Some(category) = find(SYMBOLS, path) {
        return Some(category);
    }
    if TEMPLATES.iter().any(|start| path.starts_with(start)) {
        return category_of_argument(symbol);
    }
    None
}

/// Namespaces of templates that belong to the code that uses them.
const TEMPLATES: &[&str] = &["std::", "__gnu_cxx::", "absl::", "heap::base::"];

/// A container or algorithm belongs to the first V8 or Node type in its arguments, and one that lives in a
/// zone to a compiler.
fn category_of_argument(symbol: &str) -> Option<Category> {
    if symbol.contains("ZoneAllocator") {
        return Some(Category::Compiler);
    }
    if let Some((_, argument)) = symbol.split_once("v8::internal::") {
        return Some(category_of_v8(Qualified::of(argument).as_str()));
    }
    if let Some((_, argument)) = symbol.split_once("2v88internal") {
        return Some(category_of_v8(Qualified::of_mangled_names(argument).as_str()));
    }
    OWNERS.iter().find(|(owner, _)| symbol.contains(owner)).map(|(_, category)| *category)
}

const OWNERS: &[(&str, Category)] =
    &[("cppgc::", Category::Gc), ("heap::base::", Category::Gc), ("node::", Category::NodeCore)];

/// The first row that the name begins with. Nearly all rows differ in the first byte, which is much cheaper
/// to look at than to compare the rest.
pub(super) fn find(rows: &[(&str, Category)], name: &str) -> Option<Category> {
    let first = name.as_bytes().first();
    let fits = |start: &str| start.as_bytes().first() == first && name.starts_with(start);
    rows.iter().find(|(start, _)| fits(start)).map(|(_, category)| *category)
}

/// How symbols begin; the first row that fits counts.
const SYMBOLS: &[(&str, Category)] = &[
    ("Builtins_RegExp", Category::Regexp),
    ("Builtins_", Category::Builtin),
    ("v8::", Category::Runtime),
    ("v8_inspector::", Category::Runtime),
    ("v8_crdtp::", Category::Runtime),
    ("crdtp::", Category::Runtime),
    ("unibrow::", Category::Runtime),
    ("disasm::", Category::Runtime),
    ("cppgc::internal::ObjectAllocator", Category::Runtime),
    ("cppgc::internal::MakeGarbageCollected", Category::Runtime),
    ("cppgc::", Category::Gc),
    ("PushAllRegistersAndIterateStack", Category::Gc),
    ("uv_", Category::Libuv),
    ("node::", Category::NodeCore),
    ("v8impl::", Category::NodeCore),
    ("napi_", Category::NodeCore),
    ("node_api_", Category::NodeCore),
    ("node_module_register", Category::NodeCore),
];

/// Only where no module is known: how the symbols begin of libraries that are linked into Node, of the C
/// library, and of the kernel's entry points.
const HOMELESS: &[(&str, Category)] = &[
    ("llhttp", Category::NodeCore),
    ("http_parser_", Category::NodeCore),
    ("nghttp2_", Category::NodeCore),
    ("ares_", Category::NodeCore),
    ("icu_", Category::NodeCore),
    ("ada::", Category::NodeCore),
    ("ncrypto::", Category::NodeCore),
    ("simdjson::", Category::NodeCore),
    ("simdutf::", Category::NodeCore),
    ("EVP_", Category::NodeCore),
    ("SSL_", Category::NodeCore),
    ("BIO_", Category::NodeCore),
    ("CRYPTO_", Category::NodeCore),
    ("OPENSSL_", Category::NodeCore),
    ("HMAC_", Category::NodeCore),
    ("ZSTD_", Category::NodeCore),
    ("Brotli", Category::NodeCore),
    ("sqlite3", Category::NodeCore),
    ("__libc_", Category::System),
    ("__GI_", Category::System),
    ("_start", Category::System),
    ("start_thread", Category::System),
    ("__clone", Category::System),
    ("clone3", Category::System),
    ("malloc", Category::System),
    ("_int_malloc", Category::System),
    ("_int_free", Category::System),
    ("_int_realloc", Category::System),
    ("__memcpy", Category::System),
    ("__memmove", Category::System),
    ("__memset", Category::System),
    ("__memcmp", Category::System),
    ("__strlen", Category::System),
    ("__pthread_", Category::System),
    ("pthread_", Category::System),
    ("operator", Category::System),
    ("std::", Category::System),
    ("entry_SYSCALL_64", Category::Kernel),
    ("do_syscall_64", Category::Kernel),
    ("__x64_sys_", Category::Kernel),
    ("__arm64_sys_", Category::Kernel),
    ("__se_sys_", Category::Kernel),
    ("__do_sys_", Category::Kernel),
    ("asm_exc_", Category::Kernel),
    ("asm_sysvec_", Category::Kernel),
    ("asm_common_interrupt", Category::Kernel),
    ("el0_", Category::Kernel),
    ("el0t_", Category::Kernel),
    ("ret_from_fork", Category::Kernel),
    ("system_call_fastpath", Category::Kernel),
];

#[cfg(test)]
mod tests;

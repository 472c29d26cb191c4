//! What a mapped file is: the kernel, Node's binary, an addon, a library, generated code, or nothing known.

/// What kind of thing a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The kernel, its modules, BPF programs.
    Kernel,
    /// Node's binary or libnode.
    Node,
    /// A native addon, or any other native file of an npm package.
    Addon,
    /// libuv as a library of its own (Debian).
    Libuv,
    /// Any other library or program, and the kernel's page of user code.
    System,
    /// Code that was generated at run time: a perf map, a jitdump image, executable memory without a file.
    Generated,
    /// Memory that is not meant to hold code, or no module at all.
    Nowhere,
}

/// What kind of thing a module is, by its path as the kernel or perf writes it.
pub fn home_of(module: &str) -> Home {
    let module = without_deleted(module);
    if let Some((_, home)) = STARTS.iter().find(|(start, _)| module.starts_with(start)) {
        return *home;
    }
    let file = file_name(module);
    if is_kernel_file(module, file) {
        return Home::Kernel;
    }
    if is_perf_map(file) || (file.starts_with("jitted-") && file.ends_with(".so")) {
        return Home::Generated;
    }
    if is_node_program(file) || is_library(file, "libnode") {
        return Home::Node;
    }
    if is_library(file, "libuv") {
        return Home::Libuv;
    }
    if OTHER_RUNTIMES.contains(&file) {
        return Home::System;
    }
    if file.ends_with(".node") || super::package_of(module).is_some() {
        return Home::Addon;
    }
    if module.is_empty() { Home::Nowhere } else { Home::System }
}

/// A module's file name, for people.
pub fn module_file_name(module: &str) -> &str {
    file_name(without_deleted(module))
}

/// What the kernel appends to the path of a file that was replaced while it ran, as a deployment does.
fn without_deleted(module: &str) -> &str {
    module.strip_suffix(" (deleted)").unwrap_or(module)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once(['/', '\\']).map_or(path, |(_, file)| file)
}

/// Whether a program or process of this name is Node: `node`, `nodejs`, `node22`, `node-v20.1.0`.
pub fn is_node_program(name: &str) -> bool {
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let version = ["nodejs", "node", "iojs"].iter().find_map(|program| name.strip_prefix(program));
    version.is_some_and(|version| version.bytes().all(|byte| b"-.v0123456789".contains(&byte)))
}

/// Programs that run what Node runs. npm installs them as packages, but they are no addons.
const OTHER_RUNTIMES: &[&str] = &["bun", "bun.exe", "bunx", "deno", "deno.exe"];

/// Names that the kernel and perf make up; the first row that fits counts.
const STARTS: &[(&str, Home)] = &[
    ("[vdso", Home::System),
    ("[vsyscall]", Home::System),
    ("[vectors]", Home::System),
    ("[sigpage]", Home::System),
    ("[uprobes]", Home::System),
    ("[heap]", Home::Nowhere),
    ("[stack", Home::Nowhere),
    ("[unknown]", Home::Nowhere),
    ("[JIT]", Home::Generated),
    ("[anon", Home::Generated),
    ("//anon", Home::Generated),
    ("anon_inode:", Home::Nowhere),
    ("/memfd:", Home::Generated),
    ("memfd:", Home::Generated),
    ("/dev/zero", Home::Generated),
    ("/SYSV", Home::Nowhere),
    ("[", Home::Kernel), // [kernel.kallsyms], [guest.kernel.kallsyms], [nf_conntrack], [bpf]
    ("bpf_prog_", Home::Kernel),
];

fn is_kernel_file(module: &str, file: &str) -> bool {
    file.starts_with("vmlinux")
        || module.ends_with("vmlinux")
        || module == "/proc/kcore"
        || is_kernel_module(file)
}

/// `xfs.ko`, compressed or not.
fn is_kernel_module(file: &str) -> bool {
    let file =
        [".xz", ".zst", ".gz"].iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file);
    file.ends_with(".ko")
}

/// `perf-1234.map`
fn is_perf_map(file: &str) -> bool {
    let pid = file.strip_prefix("perf-").and_then(|rest| rest.strip_suffix(".map"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `libuv.so`, `libuv.so.1.0.0`, `libnode.115.dylib`
fn is_library(file: &str, name: &str) -> bool {
    file.strip_prefix(name).is_some_and(|rest| rest.starts_with(".so") || rest.ends_with(".dylib"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes() {
        use Home::{Addon, Generated, Kernel, Libuv, Node, Nowhere, System};
        let rows: &[(&str, Home)] = &[
            ("", Nowhere),
            ("[unknown]", Nowhere),
            ("[heap]", Nowhere),
            ("[stack]", Nowhere),
            ("[stack:4140]", Nowhere),
            ("[kernel.kallsyms]", Kernel),
            ("[kernel.vmlinux]", Kernel),
            ("[guest.kernel.kallsyms]", Kernel),
            ("[nf_conntrack]", Kernel),
            ("[bpf]", Kernel),
            ("bpf_prog_6deef7357e7b4530", Kernel),
            ("vmlinux", Kernel),
            ("/boot/vmlinux-6.1.0-18-amd64", Kernel),
            ("/usr/lib/debug/lib/modules/4.19.0/vmlinux", Kernel),
            ("/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko", Kernel),
            ("/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko.xz", Kernel),
            ("/proc/kcore", Kernel),
            ("[vdso]", System),
            ("[vsyscall]", System),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", System),
            ("/lib/ld-musl-x86_64.so.1", System),
            ("/usr/bin/bash", System),
            ("/usr/bin/node_exporter", System),
            ("/opt/node/lib/libfoo.so", System),
            ("/usr/bin/node", Node),
            ("/usr/bin/nodejs", Node),
            ("/usr/bin/node22", Node),
            ("/opt/node-v20.11.1", Node),
            ("/usr/bin/node (deleted)", Node),
            ("/srv/node_modules/node/bin/node", Node),
            ("C:\\Program Files\\nodejs\\node.exe", Node),
            ("/usr/lib/x86_64-linux-gnu/libnode.so.108", Node),
            ("libnode.115.dylib", Node),
            ("/usr/lib/x86_64-linux-gnu/libuv.so.1.0.0", Libuv),
            ("/srv/build/Release/addon.node", Addon),
            ("/srv/node_modules/bcrypt/lib/bcrypt_lib.node", Addon),
            ("/srv/node_modules/@img/sharp-libvips-linux-x64/lib/libvips-cpp.so.42", Addon),
            ("/srv/node_modules/@esbuild/linux-x64/bin/esbuild", Addon),
            ("/srv/node_modules/@oven/bun-linux-x64/bin/bun", System),
            ("/srv/node_modules/bun/bin/bun.exe", System),
            ("/srv/node_modules/@deno/linux-x64-glibc/deno", System),
            ("/srv/node_modules/bun-types/addon.node", Addon),
            ("/tmp/perf-4140.map", Generated),
            ("perf-4140.map", Generated),
            ("/proc/4140/root/tmp/perf-1.map", Generated),
            ("[JIT]", Generated),
            ("/tmp/perf-.map", System),
            ("/tmp/perf-data.map", System),
            ("/tmp/jitted-4140-17.so", Generated),
            ("//anon", Generated),
            ("[anon]", Generated),
            ("[anon:v8]", Generated),
            ("/memfd:jit (deleted)", Generated),
            ("/dev/zero", Generated),
            ("/SYSV00000000 (deleted)", Nowhere),
        ];
        for (module, home) in rows {
            assert_eq!(home_of(module), *home, "{module}");
        }
    }
}

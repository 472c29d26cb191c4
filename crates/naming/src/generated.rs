//! Modules that hold code made at run time. perf names them after the process, so that one function of four
//! cluster workers would look like four; the model gives them all one name.

use profile::classify::{Home, home_of, is_unknown};

use crate::name::GENERATED;

/// The module of named generated code.
pub const JIT_MODULE: &str = GENERATED;

/// Whether a module, as perf writes it, is a perf map (`/tmp/perf-12.map`) or was made from a jitdump
/// (`jitted-12-3.so`): what stackcollapse-perf.pl and inferno mark with `_[j]`.
pub fn is_generated_code(module: &str) -> bool {
    is_perf_map(module) || is_from_jitdump(module)
}

fn is_perf_map(module: &str) -> bool {
    module.split("/tmp/perf-").skip(1).any(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest[digits..].starts_with(".map")
    })
}

fn is_from_jitdump(module: &str) -> bool {
    let file = module.rsplit('/').next().unwrap_or(module);
    file.starts_with("jitted-") && file.ends_with(".so")
}

/// The module that a function of the model gets.
pub fn module_of<'a>(symbol: &str, module: &'a str) -> &'a str {
    if !is_unknown(symbol) && home_of(module) == Home::Generated { JIT_MODULE } else { module }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_all_processes_are_one_module() {
        assert_eq!(module_of("JS:*foo", "/tmp/perf-12.map"), JIT_MODULE);
        assert_eq!(module_of("foo", "/proc/7/root/tmp/perf-1.map"), JIT_MODULE);
        assert_eq!(module_of("foo", "/root/.debug/jit/jitted-12-3.so"), JIT_MODULE);
        assert_eq!(module_of("[unknown]", "/tmp/perf-12.map"), "/tmp/perf-12.map");
        assert_eq!(module_of("foo", "/tmp/perf-.map"), "/tmp/perf-.map");
        assert_eq!(module_of("foo", "/usr/bin/node"), "/usr/bin/node");
    }
}

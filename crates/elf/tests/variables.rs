//! The constants that V8 leaves in node for debuggers, against what the program itself prints.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use elf::{Elf, Parts};

use crate::skip::skip;

const SIZES: &str = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE";

/// Every node that the cache has, or the one that is installed.
fn nodes() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache =
        std::env::var_os("NODESCOPE_CACHE").map_or(home.join(".cache/nodescope"), PathBuf::from);
    let folders = fs::read_dir(cache).into_iter().flatten().flatten();
    let nodes = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with("node-"));
    nodes.map(|entry| entry.path().join("node")).filter(|path| path.exists()).collect()
}

#[test]
fn constants_of_node_are_right() {
    let nodes = nodes();
    if nodes.is_empty() {
        skip("a Node's variables: there is no node in the cache");
    }
    for path in nodes {
        let start = Instant::now();
        let parts = Parts::new(fs::File::open(&path).unwrap()).unwrap();
        let elf = Elf::parse(&parts).unwrap();
        let found = elf.variables(|name| {
            name.starts_with(b"v8dbg_") || name.starts_with(b"_ZN2v88internal7Version")
        });
        let time = start.elapsed();
        let start = Instant::now();
        let sizes = elf.variable(SIZES);
        println!("{}: {} in {time:?}, sizes in {:?}", path.display(), found.len(), start.elapsed());
        let part = |name: &str| found.number(&format!("_ZN2v88internal7Version{name}")).unwrap();
        let version = format!(
            "{}.{}.{}.{}",
            part("6major_E"),
            part("6minor_E"),
            part("6build_E"),
            part("6patch_E")
        );
        let output = Command::new(&path).args(["-p", "process.versions.v8"]).output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().starts_with(&version), "{version}");
        assert_eq!(found.number("v8dbg_TaggedSize"), Some(8));
        // In .bss: zero, and not absent.
        assert_eq!(found.number("v8dbg_SmiTag"), Some(0));
        assert_eq!(found.number("v8dbg_NoSuchThing"), None);
        let sizes = sizes.bytes(SIZES).unwrap();
        assert!(sizes.len().is_multiple_of(3) && sizes.starts_with(&[1, 1, 1, 1]), "{sizes:?}");
    }
}

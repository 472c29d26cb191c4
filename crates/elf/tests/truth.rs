//! Random addresses of the real node against what nm prints for the same file.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use elf::{Elf, demangle};

use crate::skip::skip;

const ADDRESSES: usize = 2000;

#[test]
fn addresses_of_node_have_the_names_that_nm_gives() {
    let Some((path, names)) = node_and_names() else { return };
    let bytes = fs::read(&path).unwrap();
    let elf = Elf::parse(&bytes[..]).unwrap();
    let symbols = elf.symbols();
    let starts: Vec<u64> = names.keys().copied().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..ADDRESSES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let start = starts[(state % starts.len() as u64) as usize];
        let (size, aliases) = &names[&start];
        let address = start + (state >> 32) % size;
        // A smaller function inside a bigger one comes first.
        let (_, (_, inner)) = names
            .range(..=address)
            .rev()
            .find(|(start, (size, _))| address - **start < *size)
            .unwrap();
        let found = symbols.find(address, false).unwrap();
        assert!(
            inner.contains(&found.name.into_owned()),
            "{address:#x}: one of {inner:?}, {aliases:?}"
        );
    }
}

#[test]
fn names_of_node_are_demangled_as_cppfilt_does() {
    let Some((_, names)) = node_and_names() else { return };
    let mangled: Vec<&String> =
        names.values().flat_map(|(_, names)| names).filter(|name| name.starts_with("_Z")).collect();
    let some: Vec<&String> = mangled.into_iter().step_by(17).collect();
    let input = some.iter().map(|name| name.as_str()).collect::<Vec<_>>().join("\n");
    let file = std::env::temp_dir().join(format!("nodescope-names-{}", std::process::id()));
    fs::write(&file, input).unwrap();
    let output = Command::new("c++filt").stdin(fs::File::open(&file).unwrap()).output();
    fs::remove_file(&file).unwrap();
    let Ok(output) = output else { return skip("C++ names: there is no c++filt here") };
    let expected = String::from_utf8(output.stdout).unwrap();
    let pairs = some.iter().zip(expected.lines());
    let different: Vec<String> = pairs
        .filter(|(name, text)| demangle(name.as_bytes()) != **text)
        .map(|(name, text)| format!("{name}\n  {}\n  {text}", demangle(name.as_bytes())))
        .collect();
    // The rest is taste: std::ostream or std::basic_ostream<…>, a blank before the arguments of a function type.
    let share = format!("{} of {} names differ", different.len(), some.len());
    assert!(different.len() * 20 <= some.len(), "{share}\n{}", different.join("\n"));
}

type Names = BTreeMap<u64, (u64, Vec<String>)>;

/// The functions that have a size, by address, with all their names.
fn node_and_names() -> Option<(String, Names)> {
    let which = Command::new("sh").args(["-c", "command -v node"]).output().ok()?;
    let path = String::from_utf8(which.stdout).ok()?.trim().to_owned();
    let path = fs::canonicalize(path).ok()?.to_str()?.to_owned();
    let Ok(output) = Command::new("nm").args(["-S", "--defined-only", &path]).output() else {
        skip("names of a Node: there is no nm here");
        return None;
    };
    let mut names = Names::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [start, size, kind, name] = words[..] else { continue };
        let (Ok(start), Ok(size)) = (u64::from_str_radix(start, 16), u64::from_str_radix(size, 16))
        else {
            continue;
        };
        if "tTwWi".contains(kind) && size > 0 {
            let row = names.entry(start).or_default();
            row.0 = row.0.max(size);
            row.1.push(name.split('@').next()?.to_owned());
        }
    }
    if names.is_empty() {
        skip("names of a Node: this one has no symbols");
        return None;
    }
    Some((path, names))
}

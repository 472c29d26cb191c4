//! Whatever stands in a file, reading it ends, and in little memory: every cut and many flipped bytes of a small
//! library, and of what the C compiler makes where there is one.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::process::Command;

use elf::{Elf, Parts};

use crate::skip::skip;

#[test]
fn cut_files_do_no_harm() {
    let Some(bytes) = small_file() else { return };
    for end in 0..bytes.len() {
        read_all(&bytes[..end]);
    }
}

#[test]
fn flipped_bytes_do_no_harm() {
    let Some(mut bytes) = small_file() else { return };
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    // The headers decide most, so they are hit most.
    let headers = 0..64usize;
    let tables = bytes.len().saturating_sub(4096)..bytes.len();
    for round in 0..30_000 {
        let all = 0..bytes.len();
        let range = [&headers, &tables, &all][round % 3];
        let at = range.start + random.below(range.len());
        let old = bytes[at];
        bytes[at] = if round % 2 == 0 { random.below(256) as u8 } else { 0xff };
        read_all(&bytes);
        bytes[at] = old;
    }
}

#[test]
fn the_small_file_is_understood() {
    let Some(bytes) = small_file() else { return };
    let elf = Elf::parse(&bytes[..]).unwrap();
    let symbols = elf.symbols();
    let main = symbols.iter(true).find(|symbol| symbol.name == "twice").unwrap();
    assert_eq!(symbols.find(main.start, true).unwrap().name, "twice");
    assert_eq!(symbols.find(main.end - 1, false).unwrap().name, "twice");
    assert!(symbols.iter(true).any(|symbol| symbol.name == "puts@plt"), "no jump to puts");
    let parts = Parts::new(Cursor::new(&bytes)).unwrap();
    let in_parts = Elf::parse(&parts).unwrap();
    assert_eq!((in_parts.symbols().len(), in_parts.build_id()), (symbols.len(), elf.build_id()));
    let tables = in_parts.unwind_tables().unwrap();
    assert!(tables.covered.iter().any(|range| range.contains(&main.start)), "{:?}", tables.covered);
    let names = in_parts.names().unwrap();
    assert!(names.split(|byte| *byte == 0).any(|name| name == b"twice"), "{names:?}");
    assert!(
        elf.constants().iter().all(|range| range.end <= bytes.len() as u64)
            && !elf.constants().is_empty()
    );
}

fn read_all(bytes: &[u8]) {
    let parts = Parts::new(Cursor::new(bytes)).unwrap();
    let (elf, in_parts) = (Elf::parse(bytes), Elf::parse(&parts));
    assert_eq!(elf.is_ok(), in_parts.is_ok());
    let (Ok(elf), Ok(in_parts)) = (elf, in_parts) else { return };
    assert_eq!(elf.unwind_tables().is_some(), in_parts.unwind_tables().is_some());
    let symbols = elf.symbols();
    assert!(in_parts.symbols().len() <= symbols.len());
    for address in [0, 1, 0x1000, 0x1130, 0x401000, u64::MAX] {
        elf.address_of(address);
        symbols.find(address, true);
    }
    assert!(elf.names().is_none_or(|names| names.len() <= bytes.len()));
    assert!(elf.constants().iter().all(|range| range.start <= range.end));
    assert!(symbols.len() <= bytes.len());
    assert!(symbols.iter(true).count() <= symbols.len());
    assert!(elf.build_id().is_none_or(|id| id.len() < bytes.len()));
}

/// A little library with a function, an alias and a call to another library.
fn small_file() -> Option<Vec<u8>> {
    let name = format!("nodescope-elf-{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(name.replace(['(', ')'], ""));
    fs::create_dir_all(&folder).unwrap();
    let (source, library) = (folder.join("small.c"), folder.join("small.so"));
    let code = "#include <stdio.h>\nint twice(int a) { return puts(\"x\") + 2 * a; }\n\
                int double_it(int a) __attribute__((weak, alias(\"twice\")));\n";
    fs::write(&source, code).unwrap();
    let made = compile(&source, &library);
    let bytes = fs::read(&library).ok();
    fs::remove_dir_all(&folder).unwrap();
    if !made {
        skip("a small ELF file: there is no C compiler here");
    }
    bytes.filter(|_| made)
}

fn compile(source: &PathBuf, library: &PathBuf) -> bool {
    let options =
        ["-shared", "-fPIC", "-O1", "-nostartfiles", "-Wl,--build-id=sha1", "-Wl,-z,lazy", "-o"];
    Command::new("cc")
        .args(options)
        .arg(library)
        .arg(source)
        .status()
        .is_ok_and(|status| status.success())
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

//! Where a file is loaded in a process, from the kernel's list of its mappings.

use std::path::Path;

use elf::Segments;

/// What a process adds to the addresses in a file that it has loaded. The first of the file's mappings counts: V8 maps
/// a copy of its builtins wherever it likes, but the start of a file is mapped once.
pub fn load_bias(maps: &str, path: &Path, segments: &Segments) -> Option<u64> {
    let path = path.to_string_lossy();
    let of_file = maps.lines().filter(|line| line.ends_with(&*path));
    let (offset, start) = of_file.filter_map(place_of).min()?;
    Some(start.wrapping_sub(segments.address_of(offset)?))
}

/// A line of maps: which byte of the file is mapped, and where.
fn place_of(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_whitespace();
    let start = u64::from_str_radix(words.next()?.split('-').next()?, 16).ok()?;
    let offset = u64::from_str_radix(words.nth(1)?, 16).ok()?;
    Some((offset, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use elf::Elf;
    use std::fs;

    #[test]
    fn our_own_functions_are_where_we_find_them() {
        let path = fs::read_link("/proc/self/exe").unwrap();
        let bytes = fs::read(&path).unwrap();
        let image = Elf::parse(&bytes[..]).unwrap();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let bias = load_bias(&maps, &path, image.segments()).unwrap();
        let here = load_bias as *const () as u64;
        let symbols = image.symbols();
        let ours = symbols.iter(false).filter(|symbol| symbol.start.wrapping_add(bias) == here);
        assert!(ours.into_iter().any(|symbol| symbol.name.contains("load_bias")));
        assert_eq!(load_bias(&maps, Path::new("/nowhere"), image.segments()), None);
    }
}

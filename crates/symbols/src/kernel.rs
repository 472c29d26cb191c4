//! What the recording contains about the kernel: where its modules are, and where a function of it was, which shows
//! whether a list of names belongs to the kernel that was recorded.

use std::io::Read;

use trace::Mmap;

use crate::kallsyms::{KERNEL, Kallsyms};
use crate::maps::Maps;
use crate::places::PlaceId;
use crate::sources::{KernelNames, Sources};

/// The kernel's mappings.
#[derive(Default)]
pub(crate) struct KernelMaps {
    maps: Maps,
    names: Vec<String>,
    /// A function, and where it was.
    reference: Option<(String, u64)>,
}

/// More modules than any kernel has.
const MOST_MODULES: usize = 100_000;

/// The kernel's notes have a few hundred bytes.
const MOST_NOTES: u64 = 1 << 20;

impl KernelMaps {
    pub(crate) fn map(&mut self, mmap: &Mmap<'_>) {
        let path = String::from_utf8_lossy(mmap.path);
        if let Some(function) = path.strip_prefix(KERNEL) {
            if !function.is_empty() && mmap.offset != 0 {
                self.reference = Some((function.to_owned(), mmap.offset));
            }
        } else if !path.starts_with("[guest") && self.names.len() < MOST_MODULES {
            self.names.push(module_name(&path));
            let place = PlaceId((self.names.len() - 1) as u32);
            self.maps.insert(mmap.start, mmap.start.saturating_add(mmap.length), place);
        }
    }

    /// The module at an address.
    pub(crate) fn module(&self, address: u64) -> &str {
        self.maps.find(address).map_or(KERNEL, |id| &self.names[id.0 as usize])
    }
}

/// `/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz` is `[ext4]`.
fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    match file.split_once(".ko") {
        Some((name, _)) => format!("[{}]", name.replace('-', "_")),
        None => file.to_owned(),
    }
}

/// Whether the kernel that runs has the recorded release.
pub(crate) fn is_running(sources: &Sources, release: &str) -> bool {
    let mut running = String::new();
    let file = sources.files.open(None, "/proc/sys/kernel/osrelease".as_ref());
    let read = file.and_then(|file| file.take(MOST_NOTES).read_to_string(&mut running));
    read.is_ok() && running.trim_end() == release
}

/// The kernel's names, or why there are none.
pub(crate) fn read_names(
    sources: &Sources,
    maps: &KernelMaps,
    build_id: Option<&[u8]>,
) -> Result<Kallsyms, String> {
    let files = &sources.files;
    let (path, is_running) = match &sources.kernel {
        KernelNames::None => return Err("kernel symbols were not asked for".into()),
        KernelNames::Running => ("/proc/kallsyms".as_ref(), true),
        KernelNames::File(path) => (path.as_path(), false),
    };
    let all = files.open(None, path).and_then(Kallsyms::read);
    let all = all.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    if all.hidden {
        return Err("the kernel hides its symbols (kernel.kptr_restrict)".into());
    }
    if all.is_empty() {
        return Err(format!("{} names no functions", path.display()));
    }
    let is_other_build = || {
        let (file, mut notes) = (files.open(None, "/sys/kernel/notes".as_ref()).ok()?, Vec::new());
        file.take(MOST_NOTES).read_to_end(&mut notes).ok()?;
        Some(elf::build_id_of_notes(&notes)? != build_id?)
    };
    let moved = maps.reference.as_ref().is_some_and(|(function, address)| {
        all.address_of(function).is_some_and(|found| found != *address)
    });
    if moved || is_running && is_other_build() == Some(true) {
        return Err("the kernel is not the one that was recorded, or was started anew".into());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_by_their_files() {
        let rows = [
            ("/lib/modules/6.1/kernel/net/nf-tables.ko.xz", "[nf_tables]"),
            ("/lib/modules/6.1/kernel/fs/ext4.ko", "[ext4]"),
            ("[ext4]", "[ext4]"),
        ];
        for (path, name) in rows {
            assert_eq!(module_name(path), name);
        }
    }
}

//! Scripts whose text in V8 is not the file's: a transpiler made it while the module was loaded. Their texts and the
//! addresses of their maps are read once, as long as the process lives, and within limits.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use trace::Script;
use v8::{Memory, Reader, Reason, SeenScript};

use crate::files::Files;
use crate::source_maps::{is_transpiled_name, script_path};

/// The largest text, with the map inside of it.
const MOST_CHARACTERS: usize = 16 << 20;
/// So much is read in a second, and one script more.
const MOST_PER_SECOND: usize = 16 << 20;
/// How many rounds follow the first.
const MOST_TRIES: u32 = 32;
/// At most this many scripts wait for their turn.
const MOST_WAITING: usize = 1 << 12;

/// The scripts of all processes.
#[derive(Default)]
pub(super) struct Scripts {
    /// What was reported under a name.
    reported: FxHashMap<String, u64>,
    waiting: VecDeque<Waiting>,
    /// Those that could not be read in this round: strings move, and come to rest.
    again: Vec<Waiting>,
    since: Option<Instant>,
    read: usize,
}

/// A script whose text is still to be read.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) pid: u32,
    script: SeenScript,
    /// How often it may fail.
    tries: u32,
}

/// A process, as its scripts need it.
pub(super) struct Process<'a> {
    pub(super) reader: &'a mut Reader,
    pub(super) memory: &'a dyn Memory,
    pub(super) files: &'a dyn Files,
    pub(super) root: Option<&'a Path>,
}

/// What V8 has of a script.
#[derive(PartialEq, Eq)]
struct Compiled {
    map_url: Option<String>,
    text: String,
}

/// What a transpiler made of a file.
pub(super) struct Transpiled {
    name: String,
    map_url: String,
    text: String,
}

impl Transpiled {
    pub(super) fn as_record(&self) -> Script<'_> {
        Script {
            name: self.name.as_bytes(),
            map_url: self.map_url.as_bytes(),
            text: self.text.as_bytes(),
        }
    }
}

impl Scripts {
    /// Puts what a process's reader has seen for the first time at the end of the queue.
    pub(super) fn add(&mut self, pid: u32, reader: &mut Reader) {
        self.waiting.extend(self.again.drain(..));
        let has_file = |script: &SeenScript| script_path(&script.name).is_some();
        for script in reader.take_new_scripts().into_iter().filter(has_file) {
            if self.waiting.len() < MOST_WAITING {
                self.waiting.push_back(Waiting { pid, script, tries: MOST_TRIES });
            } else {
                reader.forget_script(&script);
            }
        }
    }

    /// The next one that may be read now.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        let now = Instant::now();
        if self.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(1)) {
            (self.since, self.read) = (Some(now), 0);
        }
        if self.read < MOST_PER_SECOND { self.waiting.pop_front() } else { None }
    }

    /// Reads one. `None` where it is the file's text, or was reported before.
    pub(super) fn read(
        &mut self,
        process: &mut Process<'_>,
        script: &Waiting,
    ) -> Option<Transpiled> {
        let found = match self.transpiled(process, &script.script) {
            Ok(found) => found?,
            Err(Reason::TooLarge) => return None,
            Err(_) => {
                process.reader.forget_script(&script.script);
                self.again.extend(
                    script.tries.checked_sub(1).map(|tries| Waiting { tries, ..script.clone() }),
                );
                return None;
            }
        };
        let mut hasher = DefaultHasher::new();
        (&found.map_url, &found.text).hash(&mut hasher);
        let hash = hasher.finish();
        (self.reported.insert(found.name.clone(), hash) != Some(hash)).then_some(found)
    }

    fn transpiled(
        &mut self,
        process: &mut Process<'_>,
        script: &SeenScript,
    ) -> Result<Option<Transpiled>, Reason> {
        let Some(path) = script_path(&script.name) else { return Ok(None) };
        let Some(compiled) = self.compiled(process, script, &path)? else { return Ok(None) };
        let on_disk = read_file(process.files, process.root, &path);
        let is_same = on_disk.is_some_and(|file| match compiled.map_url {
            Some(_) => file == compiled.text,
            None => has_same_lines(&file, &compiled.text),
        });
        if is_same {
            return Ok(None);
        }
        // Strings move while they are read: what is not the file's is only believed when it is read twice.
        process.reader.begin_batch();
        if self.compiled(process, script, &path)?.as_ref() != Some(&compiled) {
            return Err(Reason::Mismatch);
        }
        let Compiled { map_url, mut text } = compiled;
        let (name, map_url) = (script.name.to_string(), map_url.unwrap_or_default());
        if let Some(at) = text.rfind(&map_url).filter(|_| !map_url.is_empty()) {
            text.replace_range(at..at + map_url.len(), "");
        }
        Ok(Some(Transpiled { name, map_url, text }))
    }

    /// What V8 has of a script that may have been transpiled.
    fn compiled(
        &mut self,
        process: &mut Process<'_>,
        script: &SeenScript,
        path: &str,
    ) -> Result<Option<Compiled>, Reason> {
        let Process { reader, memory, .. } = process;
        let map_url = reader.map_url(*memory, script, MOST_CHARACTERS)?;
        let is_inline = map_url.as_ref().is_some_and(|url| url.starts_with("data:"));
        if !is_inline && !is_transpiled_name(path) {
            return Ok(None);
        }
        let text = reader.script_text(*memory, script, MOST_CHARACTERS)?;
        self.read = self.read.saturating_add(text.characters);
        Ok(Some(Compiled { map_url, text: text.text }))
    }
}

fn read_file(files: &dyn Files, root: Option<&Path>, path: &str) -> Option<String> {
    let file = files.open(root, Path::new(path)).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_CHARACTERS as u64).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Whether every place in the file is the same place in the text: what strips types puts spaces in their place, and
/// may append lines.
fn has_same_lines(file: &str, text: &str) -> bool {
    let units = |line: &str| line.trim_end_matches('\r').encode_utf16().count();
    let mut lines = text.split('\n');
    let mut file = file.split('\n').peekable();
    while let Some(line) = file.next() {
        let is_last = file.peek().is_none();
        match lines.next() {
            Some(other) if units(other) == units(line) => {}
            // Nothing need stand behind the last line feed.
            _ if is_last && line.is_empty() => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripped_types_leave_every_place_where_it_was() {
        let file = "interface A { b: string }\nconst x: number = 1;\n";
        let stripped = "                         \nconst x         = 1;\n";
        assert!(has_same_lines(file, stripped));
        assert!(has_same_lines(file, &format!("{stripped}\n\n//# sourceURL=/srv/a.ts")));
        assert!(has_same_lines(file, stripped.trim_end_matches('\n')));
        assert!(has_same_lines("a\r\nb", "a\nb"));
        assert!(!has_same_lines(file, "const x = 1;\n"));
        assert!(!has_same_lines(file, "\nconst x         = 1;\n"));
        assert!(!has_same_lines(file, ""));
    }
}

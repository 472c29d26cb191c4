//! A recording without what shows whose it is: the host, paths, command lines, and the names that the user gave. Each
//! such text gets a stand-in, and the same text gets the same one everywhere. Names of npm packages, of Node, the
//! engine, the system's libraries and the kernel stay, and so does every number: only texts change, and no id does.

mod code;
mod paths;
mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::classify::{is_engine_thread, is_launcher, is_node_program};
use crate::ids::StringId;
use crate::model::Profile;
use crate::strings::Strings;
use crate::tables::Process;
use code::Code;
use stand_ins::StandIns;

/// The note that the recording has from then on.
const NOTE: &str =
    "Redacted: the host, paths, command lines and the names of your own code have stand-ins.";
/// What takes the place of a sentence that may name something.
const SENTENCE: &str = "A sentence was taken out: it named a file or a function.";
/// What takes the place of a command line, by what it starts.
const LAUNCHER: &str = "npm";
const NODE: &str = "node";
const COMMAND: &str = "command";

impl Profile {
    /// The same recording without what shows whose it is.
    pub fn redacted(self) -> Profile {
        let mut profile = self.without_source_texts();
        let mut redactor = Redactor::default();
        redactor.redact_code(&mut profile);
        redactor.redact_processes(&mut profile);
        redactor.redact_meta(&mut profile);
        redactor.redact_notes(&mut profile);
        profile.forget_unused_strings();
        profile
    }

    /// Empties the texts that no row refers to, so that no id changes.
    fn forget_unused_strings(&mut self) {
        let used = self.used_strings();
        let mut strings = Strings::default();
        for (row, text) in self.strings.iter().enumerate() {
            strings.push(if used.contains(&StringId::from_index(row)) { text } else { "" });
        }
        self.strings = strings;
    }
}

/// What was replaced so far.
#[derive(Default)]
struct Redactor {
    stand_ins: StandIns,
    /// The rows of new texts.
    rows: FxHashMap<String, StringId>,
}

impl Redactor {
    /// The row of a new text.
    fn row(&mut self, profile: &mut Profile, text: &str) -> StringId {
        *self.rows.entry(text.to_owned()).or_insert_with(|| profile.strings.push(text))
    }

    /// The row of the stand-in for a text; none for none.
    fn stand_in(&mut self, profile: &mut Profile, kind: &'static str, id: StringId) -> StringId {
        if id.some().is_none_or(|id| profile.text(id).is_empty()) {
            return id;
        }
        let text = self.stand_ins.of(kind, profile.text(id));
        self.row(profile, &text)
    }

    fn redact_code(&mut self, profile: &mut Profile) {
        let code = Code::of(profile);
        let sources: Vec<String> =
            (0..profile.sources.len()).map(|row| code.source(row, &mut self.stand_ins)).collect();
        let modules: Vec<String> =
            (0..profile.modules.len()).map(|row| code.module(row, &mut self.stand_ins)).collect();
        let functions: Vec<String> =
            profile.functions.ids().map(|id| code.function(id, &mut self.stand_ins)).collect();
        let symbols: Vec<String> = profile
            .frames
            .ids()
            .map(|id| {
                let function = profile.frames.function[id.index()];
                let source = profile.functions.source[function.index()].some();
                let path = source.map(|source| sources[source.index()].as_str());
                code.symbol(id, &functions[function.index()], path)
            })
            .collect();
        let (own_modules, own_packages) = (code.own_modules(), code.own_packages());
        for (row, path) in sources.iter().enumerate() {
            profile.sources[row].path = self.row(profile, path);
        }
        for (row, name) in modules.iter().enumerate() {
            profile.modules[row].name = self.row(profile, name);
            if own_modules[row] {
                profile.modules[row].build_id = StringId::NONE;
            }
        }
        for (row, name) in functions.iter().enumerate() {
            profile.functions.name[row] = self.row(profile, name);
        }
        for (row, symbol) in symbols.iter().enumerate() {
            if profile.frames.symbol[row].some().is_some() {
                profile.frames.symbol[row] = self.row(profile, symbol);
            }
        }
        self.redact_packages(profile, &own_packages);
    }

    fn redact_packages(&mut self, profile: &mut Profile, own: &BTreeSet<String>) {
        for row in 0..profile.functions.len() {
            let name = profile.functions.package[row];
            if own.contains(profile.text(name)) {
                profile.functions.package[row] = self.stand_in(profile, "own", name);
                profile.functions.version[row] = plain(profile, profile.functions.version[row]);
            }
        }
        for row in 0..profile.packages.len() {
            let package = profile.packages[row];
            let name = profile.text(package.name).to_owned();
            if own.contains(&name) {
                profile.packages[row].name = self.stand_in(profile, "own", package.name);
                profile.packages[row].version = plain(profile, package.version);
                profile.packages[row].folder = StringId::NONE;
            } else {
                let folder = paths::installed(profile.text(package.folder), &name, own);
                profile.packages[row].folder = self.row(profile, &folder);
            }
        }
    }

    fn redact_processes(&mut self, profile: &mut Profile) {
        for row in 0..profile.processes.len() {
            let process = profile.processes[row].clone();
            let command = match profile.text(process.command) {
                "" => None,
                command if is_launcher(command) => Some(LAUNCHER),
                command => Some(if starts_node(command) { NODE } else { COMMAND }),
            };
            let process = Process {
                name: self.thread_name(profile, "process", process.name),
                container: self.stand_in(profile, "container", process.container),
                app: self.stand_in(profile, "app", process.app),
                command: command.map_or(StringId::NONE, |command| self.row(profile, command)),
                folder: StringId::NONE,
                ports: Vec::new(),
                ..process
            };
            profile.processes[row] = process;
        }
        for row in 0..profile.threads.len() {
            let name = profile.threads[row].name;
            profile.threads[row].name = self.thread_name(profile, "thread", name);
        }
    }

    /// What Node and V8 call their threads reveals nothing; an application may choose other names.
    fn thread_name(&mut self, profile: &mut Profile, kind: &'static str, id: StringId) -> StringId {
        let name = profile.text(id);
        if is_engine_thread(name) || is_node_program(name) {
            return id;
        }
        self.stand_in(profile, kind, id)
    }

    fn redact_meta(&mut self, profile: &mut Profile) {
        let meta = &mut profile.meta;
        (meta.host, meta.command) = (None, None);
        let losses = &mut meta.losses;
        let mut unnamed: BTreeMap<String, u64> = BTreeMap::new();
        for (reason, count) in std::mem::take(&mut losses.unnamed) {
            let sum = unnamed.entry(self.sentence(reason)).or_default();
            *sum = sum.saturating_add(count);
        }
        losses.unnamed = unnamed;
        for list in [&mut losses.damage, &mut losses.notes] {
            *list = std::mem::take(list).into_iter().map(|text| self.sentence(text)).collect();
            list.dedup();
        }
        losses.notes.push(NOTE.to_owned());
    }

    fn redact_notes(&mut self, profile: &mut Profile) {
        for row in 0..profile.markers.len() {
            profile.markers.text[row] = self.redacted_sentence(profile, profile.markers.text[row]);
        }
        for row in 0..profile.loops.len() {
            profile.loops.problem[row] =
                self.redacted_sentence(profile, profile.loops.problem[row]);
        }
    }

    /// The row of a sentence that may name something, or of its stand-in.
    fn redacted_sentence(&mut self, profile: &mut Profile, id: StringId) -> StringId {
        let Some(id) = id.some() else { return id };
        let text = self.sentence(profile.text(id).to_owned());
        self.row(profile, &text)
    }

    fn sentence(&self, text: String) -> String {
        if self.stand_ins.is_revealing(&text) { SENTENCE.to_owned() } else { text }
    }
}

/// A version of numbers alone: a word in it may be a name.
fn plain(profile: &Profile, version: StringId) -> StringId {
    let is_plain = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    version.some().filter(|id| profile.text(*id).bytes().all(is_plain)).unwrap_or_default()
}

fn starts_node(command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    is_node_program(program.rsplit(['/', '\\']).next().unwrap_or(program))
}

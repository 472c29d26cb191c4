//! What asked for the work of each stack: its entry. That is a kind, such as an HTTP request or a timer, and the first
//! function of the application behind the frame that identifies the kind. Frames before V8's last queue of microtasks
//! are not asked: they only emptied it. What runs after an await has the entry of the functions that await it, where
//! they are known, else the one under which it was seen to start; where neither is known, it is `after await` and no
//! request.

mod kind;
mod rows;
mod rules;
mod started;

use profile::{Category, FunctionId, Profile, StackId, StringId};
use rustc_hash::FxHashMap;

use crate::report::{file_of, place_of};
pub use kind::EntryKind;
pub(crate) use rows::entry_words;
pub use rows::{EntryGroup, EntryRow, entry_rows};
use rules::{Meaning, Over, QUEUED, Rule, meanings};

/// What asked for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryPoint {
    /// What it is.
    pub kind: EntryKind,
    /// The outermost function of the application behind the frame that identifies the kind; none where there is none.
    pub function: FunctionId,
    /// Without such a function, the package of the outermost one that has one.
    pub package: StringId,
    /// Whether it was inferred from other samples, because in these it was not known any more.
    pub is_inferred: bool,
}

impl EntryPoint {
    /// All that a pattern may look for: `http HTTP request list /srv/catalogue.js:12`.
    pub fn text(&self, profile: &Profile) -> String {
        let mut text = format!("{} {}", self.kind.word(), self.kind.one());
        if let Some(id) = self.function.some() {
            let function = profile.functions().row(id);
            let line = Some(function.line).filter(|line| *line > 0);
            let place = place_of(file_of(profile, id), line);
            text = format!("{text} {} {place}", profile.text(function.name));
        }
        match self.package.some() {
            Some(package) => format!("{text} {}", profile.text(package)),
            None => text,
        }
    }
}

const NOT_JAVASCRIPT: EntryPoint = EntryPoint {
    kind: EntryKind::NotJavaScript,
    function: FunctionId::NONE,
    package: StringId::NONE,
    is_inferred: false,
};

/// The entries of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    /// The entries. The first one is that of everything that is not JavaScript.
    pub list: Vec<EntryPoint>,
    /// For each stack, physical or logical, the row of its entry in `list`.
    pub of_stack: Vec<u32>,
}

impl Entries {
    /// The row of a stack's entry; that of samples without a stack is 0.
    pub fn row(&self, stack: StackId) -> usize {
        self.of_stack.get(stack.index()).map_or(0, |row| *row as usize)
    }

    /// The entry of a stack.
    pub fn of(&self, stack: StackId) -> EntryPoint {
        self.list.get(self.row(stack)).copied().unwrap_or(NOT_JAVASCRIPT)
    }

    /// Chooses entries; `words` name them, for people.
    pub fn choose(&self, words: &str, is_meant: impl Fn(&EntryPoint) -> bool) -> ChosenEntries {
        let meant: Vec<bool> = self.list.iter().map(is_meant).collect();
        let stacks = self.of_stack.iter().map(|row| meant[*row as usize]).collect();
        ChosenEntries { words: words.to_owned(), stacks }
    }
}

/// The entries that a selection keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenEntries {
    /// What the user asked for.
    pub words: String,
    stacks: Vec<bool>,
}

impl ChosenEntries {
    /// Whether a stack has one of them.
    pub(crate) fn has(&self, stack: StackId) -> bool {
        self.stacks.get(stack.index()).copied().unwrap_or(false)
    }
}

/// The entry of every stack.
pub fn entries(profile: &Profile) -> Entries {
    let meanings = meanings(profile);
    let paths = paths(profile, &meanings);
    let mut named = Named::default();
    let mut rows: Vec<u32> = paths.iter().map(|path| named.of_frames(path)).collect();
    started::infer(profile, &meanings, &paths, &mut named, &mut rows);
    let logical = &profile.stacks().logical;
    for id in profile.stacks().ids() {
        rows[id.index()] = match logical[id.index()].some() {
            Some(logical) => rows[logical.index()],
            None if rows[id.index()] == NOT_KNOWN => named.of_unknown(&paths[id.index()]),
            None => rows[id.index()],
        };
    }
    Entries { list: named.list, of_stack: rows }
}

/// Stands for an entry that no frame shows.
const NOT_KNOWN: u32 = u32::MAX;

/// What the frames of a stack show, from the last queue of microtasks on.
#[derive(Clone, Copy)]
struct Path {
    rule: Option<&'static Rule>,
    /// The outermost functions of JavaScript, and behind the rule's frame of the application.
    root: FunctionId,
    function: FunctionId,
    package: StringId,
    is_javascript: bool,
    /// Whether it was resumed after an await or called by a promise, or nothing shows how it was called.
    is_resumed: bool,
    is_bare: bool,
    /// Whether its innermost frame is the queue of microtasks itself.
    is_queue: bool,
    /// Whether a caller that awaits was inferred.
    is_inferred: bool,
}

const EMPTY: Path = Path {
    rule: None,
    root: FunctionId::NONE,
    function: FunctionId::NONE,
    package: StringId::NONE,
    is_javascript: false,
    is_resumed: false,
    is_bare: false,
    is_queue: false,
    is_inferred: false,
};

/// One pass over all stacks, callers first.
fn paths(profile: &Profile, meanings: &[Meaning]) -> Vec<Path> {
    let stacks = profile.stacks();
    let resumed = resumed(profile);
    let mut paths: Vec<Path> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let row = stacks.row(id);
        let path = match (row.logical.some(), row.parent.some()) {
            (Some(logical), _) => paths[logical.index()],
            (None, Some(parent)) => paths[parent.index()],
            (None, None) => EMPTY,
        };
        let mut path =
            if row.logical.some().is_some() { path } else { path.called(profile, &row, meanings) };
        path.is_resumed |= resumed[id.index()];
        paths.push(path);
    }
    paths
}

/// For each stack, whether it stands for one that V8's queue of microtasks has begun.
fn resumed(profile: &Profile) -> Vec<bool> {
    let mut resumed = vec![false; profile.stacks().len()];
    for logical in profile.stacks().logical.iter().filter_map(|id| id.some()) {
        resumed[logical.index()] = true;
    }
    resumed
}

impl Path {
    /// The path with one more frame.
    fn called(mut self, profile: &Profile, row: &profile::Stack, meanings: &[Meaning]) -> Self {
        let frame = profile.frames().row(row.frame);
        let is_javascript = frame.tier.is_javascript();
        self.is_inferred |= row.call == profile::CallKind::InferredAwait;
        self.is_resumed |= row.call != profile::CallKind::Call;
        self.is_bare |= is_javascript && row.parent.some().is_none();
        if row.call.is_await() {
            self.go_on();
        }
        if std::mem::take(&mut self.is_queue) && is_javascript {
            self.rule = Some(QUEUED);
        }
        match meanings[frame.function.index()] {
            Meaning::Microtasks { is_builtin } => {
                let (is_javascript, is_resumed) = (true, true);
                return Self { is_javascript, is_resumed, is_queue: is_builtin, ..EMPTY };
            }
            Meaning::Entry(rule) if self.yields_to(rule) => {
                let package = profile.functions().package[frame.function.index()];
                self = Self { rule: Some(rule), function: FunctionId::NONE, package, ..self };
            }
            _ if frame.category == Category::App => self.meet_own(frame.function, is_javascript),
            _ if frame.category == Category::Dependency && self.package == StringId::NONE => {
                self.package = profile.functions().package[frame.function.index()];
            }
            _ => {}
        }
        self.is_javascript |= is_javascript;
        if is_javascript && self.root == FunctionId::NONE {
            self.root = frame.function;
        }
        self
    }

    fn meet_own(&mut self, function: FunctionId, is_javascript: bool) {
        if is_javascript && self.function == FunctionId::NONE {
            self.function = function;
        }
    }

    /// What goes on after an await of its own is no start any more.
    fn go_on(&mut self) {
        if self.function.some().is_some() && self.rule.is_some_and(|rule| !rule.kind.is_kept()) {
            self.rule = None;
        }
    }

    fn yields_to(&self, rule: &Rule) -> bool {
        match (rule.over, self.rule) {
            (Over::Any, _) | (_, None) => true,
            (Over::Startup, Some(its)) => its.kind == EntryKind::Startup,
            (Over::Nothing, Some(_)) => false,
        }
    }

    /// An entry that is known without a function has the outermost one of this stack.
    fn with_function(&self, entry: EntryPoint) -> EntryPoint {
        match (entry.function.some(), self.function.some()) {
            (None, Some(function)) => EntryPoint { function, package: StringId::NONE, ..entry },
            _ => entry,
        }
    }

    /// The entry, with this kind.
    fn entry(&self, kind: EntryKind) -> EntryPoint {
        let package = if self.function.some().is_some() { StringId::NONE } else { self.package };
        EntryPoint { kind, function: self.function, package, is_inferred: self.is_inferred }
    }
}

/// The entries so far, each once.
struct Named {
    list: Vec<EntryPoint>,
    index: FxHashMap<EntryPoint, u32>,
}

impl Default for Named {
    fn default() -> Self {
        Self { list: vec![NOT_JAVASCRIPT], index: FxHashMap::from_iter([(NOT_JAVASCRIPT, 0)]) }
    }
}

impl Named {
    fn row(&mut self, entry: EntryPoint) -> u32 {
        *self.index.entry(entry).or_insert_with(|| {
            self.list.push(entry);
            u32::try_from(self.list.len() - 1).unwrap_or(0)
        })
    }

    /// The entry that frames show.
    fn of_frames(&mut self, path: &Path) -> u32 {
        match path.rule {
            _ if !path.is_javascript => 0,
            Some(rule) => self.row(path.entry(rule.kind)),
            None => NOT_KNOWN,
        }
    }

    /// The entry of a stack of which nothing else is known.
    fn of_unknown(&mut self, path: &Path) -> u32 {
        let kind = if path.is_resumed { EntryKind::AfterAwait } else { EntryKind::Other };
        self.row(path.entry(kind))
    }
}

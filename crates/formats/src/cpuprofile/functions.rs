//! Where the functions of a process stand, and which of them a line belongs to. V8's profiler counts a function that was
//! inlined as its caller, but with the line where it really was. A line has no script: the function that was inlined may stand
//! in another one. So it is believed only where the caller, or something that it calls, has the function's name in its text,
//! and only one such function has code on that line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::coverage::Script;
use super::layout::{Layout, Listed, TOP, word_of};
use super::raw::Call;
use crate::json::Text;

/// What Node's own scripts are called: V8 does not list their functions.
const INTERNAL: &str = "node:";
/// Our own.
const OURS: &str = "nodescope:";
/// So deep does V8 inline, and further calls are not followed.
const DEEPEST: usize = 4;
/// Where more functions than this have one name, those in other scripts are not considered.
const MOST_NAMESAKES: usize = 8;
/// So many functions are considered for one caller.
const MOST_LINKED: usize = 4096;

/// A script's text, where it can be had.
pub(super) type TextOf<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// A script and a function of it.
type Id = (u32, u32);

/// Whose a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The function's own, as V8 says.
    Itself,
    /// That of a function that was inlined.
    Inlined(Call<'static>),
    /// It may be the function's, or that of others on the same line; or not the function's, and of nobody that is known.
    Uncertain,
    /// The script's text or its functions are not known.
    Unchecked,
}

/// The functions of a process.
#[derive(Debug, Default)]
pub(super) struct Functions {
    scripts: Vec<ScriptFunctions>,
    by_url: HashMap<String, u32>,
    by_word: FxHashMap<u32, Vec<Id>>,
    linked: FxHashMap<Id, Rc<FxHashSet<Id>>>,
    /// Where V8's profiler saw functions, by script.
    seen: FxHashMap<u32, FxHashSet<(u32, u32)>>,
    lacks_some: bool,
}

#[derive(Debug)]
struct ScriptFunctions {
    url: String,
    functions: Vec<Listed>,
    text: ScriptText,
}

#[derive(Debug)]
enum ScriptText {
    NotRead,
    /// It is not there, or is another one than V8's.
    None,
    Read(Box<Layout>),
}

impl Functions {
    /// Takes in a list of functions: V8's coverage. Returns what is wrong with it.
    pub(super) fn note(&mut self, coverage: &str) -> Option<String> {
        let scripts: Vec<Script> = match serde_json::from_str(coverage) {
            Ok(scripts) => scripts,
            Err(error) => return Some(format!("the list of functions could not be read: {error}")),
        };
        self.lacks_some = false;
        scripts
            .into_iter()
            .filter(|script| !script.url.starts_with(OURS))
            .for_each(|script| self.add(script));
        self.by_word.clear();
        self.linked.clear();
        self.seen.clear();
        for (script, one) in (0u32..).zip(&self.scripts) {
            for (function, listed) in (0u32..).zip(&one.functions) {
                if let Some(word) = word_of(&listed.name) {
                    self.by_word.entry(word).or_default().push((script, function));
                }
            }
        }
        None
    }

    /// Whether a script ran that is not in the list; it is forgotten by asking.
    pub(super) fn take_lack(&mut self) -> bool {
        std::mem::take(&mut self.lacks_some)
    }

    /// Whose a line is that V8 says is a function's.
    pub(super) fn owner(&mut self, call: &Call<'_>, line: u32, text_of: &mut TextOf<'_>) -> Owner {
        let url = &*call.url.0;
        if url.is_empty() || call.line == 0 || line == 0 || url.starts_with(OURS) {
            return Owner::Itself;
        }
        // Without the end of a function, only what is before its beginning is certainly not its own.
        let at_least = |unknown: Owner| if line < call.line { Owner::Uncertain } else { unknown };
        if url.starts_with(INTERNAL) {
            return at_least(Owner::Itself);
        }
        let Some(caller) = self.find(call, text_of) else { return at_least(Owner::Unchecked) };
        self.seen.entry(caller.0).or_default().insert((call.line, call.column));
        let Some(layout) = self.layout(caller.0, text_of) else { return at_least(Owner::Unchecked) };
        if layout.is_own(caller.1, line) {
            let is_alone = layout.owners(line).all(|owner| owner == caller.1);
            return if is_alone { Owner::Itself } else { Owner::Uncertain };
        }
        let found = self.inlined(caller, line, text_of);
        found.and_then(|found| self.call(found)).map_or(Owner::Uncertain, Owner::Inlined)
    }

    fn add(&mut self, script: Script) {
        let listed = |function: super::coverage::Function| {
            let range = function.ranges.first().copied()?;
            let (start, end) = (range.start_offset.try_into().ok()?, range.end_offset.try_into().ok()?);
            Some(Listed { name: function.function_name, start, end, has_run: range.count > 0 })
        };
        let mut functions: Vec<Listed> = script.functions.into_iter().filter_map(listed).collect();
        let next = u32::try_from(self.scripts.len()).unwrap_or(TOP);
        let row = *self.by_url.entry(script.url.clone()).or_insert(next) as usize;
        if row == self.scripts.len() {
            let (functions, text) = (Vec::new(), ScriptText::NotRead);
            self.scripts.push(ScriptFunctions { url: script.url, functions, text });
        }
        let Some(known) = self.scripts.get_mut(row) else { return };
        functions.extend(known.functions.iter().cloned());
        functions.sort_by(|one, two| {
            let key = |it: &Listed| (it.start, std::cmp::Reverse(it.end), !it.has_run);
            key(one).cmp(&key(two)).then_with(|| one.name.cmp(&two.name))
        });
        functions.dedup_by(|later, first| {
            (later.start, later.end, &later.name) == (first.start, first.end, &first.name)
        });
        if functions != known.functions {
            (known.functions, known.text) = (functions, ScriptText::NotRead);
        }
    }

    /// The function that V8 calls so, in the list.
    fn find(&mut self, call: &Call<'_>, text_of: &mut TextOf<'_>) -> Option<Id> {
        let Some(&script) = self.by_url.get(&*call.url.0) else {
            self.lacks_some = true;
            return None;
        };
        let found = self.layout(script, text_of)?.function_at(call.line, call.column);
        let is_it = |function: &u32| {
            let functions = self.scripts.get(script as usize).map(|script| &script.functions);
            let listed = functions.and_then(|functions| functions.get(*function as usize));
            listed.map_or("", |listed| &listed.name) == call.name.0
        };
        let found = found.filter(is_it);
        self.lacks_some |= found.is_none();
        Some((script, found?))
    }

    fn layout(&mut self, script: u32, text_of: &mut TextOf<'_>) -> Option<&Layout> {
        let row = script as usize;
        let one = self.scripts.get_mut(row)?;
        if matches!(one.text, ScriptText::NotRead) {
            let text = text_of(&one.url);
            // Node takes the mark away before V8 sees the text.
            let text = text.as_deref().map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
            let layout = text.and_then(|text| Layout::new(text, &one.functions));
            one.text = layout.map_or(ScriptText::None, |layout| ScriptText::Read(Box::new(layout)));
        }
        match &self.scripts.get(row)?.text {
            ScriptText::Read(layout) => Some(layout),
            _ => None,
        }
    }

    /// The only function that a caller may have inlined, and that has code on the line.
    fn inlined(&mut self, caller: Id, line: u32, text_of: &mut TextOf<'_>) -> Option<Id> {
        let linked = self.linked(caller, text_of);
        let mut here: Vec<Id> = Vec::new();
        let scripts: FxHashSet<u32> = linked.iter().map(|id| id.0).chain([caller.0]).collect();
        for script in scripts {
            let Some(layout) = self.layout(script, text_of) else { continue };
            here.extend(layout.owners(line).filter(|owner| *owner != TOP).map(|owner| (script, owner)));
        }
        let mut found: Vec<Id> = here.iter().copied().filter(|id| linked.contains(id)).collect();
        let has_run = |id: &Id| {
            let functions = self.scripts.get(id.0 as usize).map(|script| &script.functions);
            functions.and_then(|functions| functions.get(id.1 as usize)).is_some_and(|it| it.has_run)
        };
        if found.len() > 1 {
            found.retain(has_run);
        }
        let [only] = found[..] else { return None };
        // A function of the caller's own script that it does not name may be called through a variable.
        let has_rival = here.iter().any(|id| id.0 == caller.0 && *id != only);
        (only.0 == caller.0 || !has_rival).then_some(only)
    }

    /// What a function may call, and those again: what its text names, and what is inside of it.
    fn linked(&mut self, caller: Id, text_of: &mut TextOf<'_>) -> Rc<FxHashSet<Id>> {
        if let Some(known) = self.linked.get(&caller) {
            return Rc::clone(known);
        }
        let mut all: FxHashSet<Id> = FxHashSet::default();
        let mut level = vec![caller];
        for _ in 0..DEEPEST {
            let mut next = Vec::new();
            for id in std::mem::take(&mut level) {
                for called in self.called(id, text_of) {
                    if called != caller && all.len() < MOST_LINKED && all.insert(called) {
                        next.push(called);
                    }
                }
            }
            level = next;
        }
        let all = Rc::new(all);
        self.linked.insert(caller, Rc::clone(&all));
        all
    }

    fn called(&mut self, (script, function): Id, text_of: &mut TextOf<'_>) -> Vec<Id> {
        let Some(layout) = self.layout(script, text_of) else { return Vec::new() };
        let mut called: Vec<Id> = layout.inside(function).map(|inner| (script, inner)).collect();
        let words = layout.words(function).to_vec();
        for named in words.iter().filter_map(|word| self.by_word.get(word)) {
            let is_rare = named.len() <= MOST_NAMESAKES;
            called.extend(named.iter().copied().filter(|id| is_rare || id.0 == script));
        }
        called
    }

    /// A function as V8's profiler would call it.
    fn call(&self, (script, function): Id) -> Option<Call<'static>> {
        let one = self.scripts.get(script as usize)?;
        let listed = one.functions.get(function as usize)?;
        let ScriptText::Read(layout) = &one.text else { return None };
        let is_here = |place: &&(u32, u32)| layout.is_head(function, place.0, place.1);
        let seen = self.seen.get(&script).and_then(|places| places.iter().find(is_here)).copied();
        let (line, column) = seen.or_else(|| layout.place(function))?;
        let owned = |text: &str| Text(Cow::Owned(text.to_owned()));
        Some(Call { name: owned(&listed.name), url: owned(&one.url), line, column })
    }
}

#[cfg(test)]
#[path = "functions/tests.rs"]
mod tests;

//! Where the functions of a process stand, and which of them a line belongs to. V8's profiler counts a function that
//! was inlined as its caller, but with the line where it really was. A line has no script: the function that was
//! inlined may stand in another one. So it is believed only where the caller, or something that it calls, has the
//! function's name in its text or was seen to call it, and only one such function has code on that line. Node's own
//! functions, whose text is not known, inline callbacks, too.

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
/// Calls are followed this far.
const DEEPEST: usize = 6;
/// Where more functions than this have one name, those in other scripts are not considered.
const MOST_NAMESAKES: usize = 8;
/// At most this many functions are considered for one caller, and this many calls are remembered.
const MOST_LINKED: usize = 4096;
const MOST_CALLS: usize = 1 << 16;
/// No function of Node's own is longer, but for its REPL.
const LONGEST_INTERNAL: u32 = 500;

/// Node's own functions that call the application's: they do next to nothing themselves.
const DISPATCHERS: [&str; 8] = [
    "listOnTimeout",
    "processTimers",
    "processImmediate",
    "processTicksAndRejections",
    "runNextTicks",
    "callbackTrampoline",
    "emit",
    "Module._compile",
];

/// A script's text, where it can be had.
pub(super) type TextOf<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// A script and a function of it.
type Id = (u32, u32);

/// Something that calls: a function in the list, or another one by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Caller {
    Listed(Id),
    Other(u32),
}

/// Whose a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The function's own, as V8 reports.
    Itself,
    /// That of a function that was inlined.
    Inlined(Call<'static>),
    /// It may be the function's, or that of others on the same line; or it is that of an unknown function.
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
    linked: FxHashMap<Caller, Rc<FxHashSet<Id>>>,
    /// Calls that V8's profiler saw.
    calls: FxHashMap<Caller, FxHashSet<Caller>>,
    others: HashMap<Call<'static>, u32>,
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
        self.calls.clear();
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

    /// Whether a script ran that is not in the list; asking resets it.
    pub(super) fn take_lack(&mut self) -> bool {
        std::mem::take(&mut self.lacks_some)
    }

    /// Takes in that one function was seen to call another.
    pub(super) fn note_call(
        &mut self,
        caller: &Call<'_>,
        called: &Call<'_>,
        text_of: &mut TextOf<'_>,
    ) {
        let (caller, called) = (self.caller(caller, text_of), self.caller(called, text_of));
        let (Some(caller), Some(called)) = (caller, called) else { return };
        if self.calls.len() < MOST_CALLS && self.calls.entry(caller).or_default().insert(called) {
            self.linked.clear();
        }
    }

    /// Whose a line is that V8 attributes to a function.
    pub(super) fn owner(&mut self, call: &Call<'_>, line: u32, text_of: &mut TextOf<'_>) -> Owner {
        let url = &*call.url.0;
        if url.is_empty() || call.line == 0 || line == 0 || url.starts_with(OURS) {
            return Owner::Itself;
        }
        if url.starts_with(INTERNAL) {
            return self.owner_in_internal(call, line, text_of);
        }
        // Without the end of a function, only what is before its beginning is certainly not its own.
        let unknown = if line < call.line { Owner::Uncertain } else { Owner::Unchecked };
        let Some(caller) = self.find(call, text_of) else { return unknown };
        self.seen.entry(caller.0).or_default().insert((call.line, call.column));
        let Some(layout) = self.layout(caller.0, text_of) else { return unknown };
        if layout.is_own(caller.1, line) {
            let is_alone = layout.owners(line).all(|owner| owner == caller.1);
            return if is_alone { Owner::Itself } else { Owner::Uncertain };
        }
        let found = self.inlined(Caller::Listed(caller), line, text_of);
        found.and_then(|found| self.call(found)).map_or(Owner::Uncertain, Owner::Inlined)
    }

    /// Whether a function's own line may hide another function, which it calls there: V8's profiler does not know code
    /// that was optimised before it began, while that code ran in a loop, and counts its time as the caller's.
    pub(super) fn may_hide(
        &mut self,
        call: &Call<'_>,
        line: u32,
        text_of: &mut TextOf<'_>,
    ) -> bool {
        if call.url.0.starts_with(INTERNAL) {
            return DISPATCHERS.contains(&&*call.name.0);
        }
        let Some(caller) = self.find(call, text_of) else { return false };
        let Some(layout) = self.layout(caller.0, text_of) else { return false };
        // V8 reports the beginning of a function whose lines it does not know: those of Maglev's code, in some
        // releases.
        let is_known = line != call.line || layout.owners(line).any(|owner| owner == caller.1);
        let words: Vec<u32> = match is_known {
            true => layout.words_on(line).collect(),
            false => layout.words(caller.1).to_vec(),
        };
        let named: Vec<Id> = words.iter().flat_map(|word| self.named(*word, caller.0)).collect();
        let mut has_loop = |id: Id| {
            let layout = self.layout(id.0, text_of);
            id != caller && layout.is_some_and(|layout| !is_known || layout.has_loop(id.1))
        };
        named.into_iter().any(&mut has_loop)
    }

    fn owner_in_internal(&mut self, call: &Call<'_>, line: u32, text_of: &mut TextOf<'_>) -> Owner {
        let found = match self.caller(call, text_of) {
            Some(caller) => self.inlined(caller, line, text_of).and_then(|found| self.call(found)),
            None => None,
        };
        match found {
            Some(found) if line < call.line || line - call.line >= LONGEST_INTERNAL => {
                Owner::Inlined(found)
            }
            None if line >= call.line => Owner::Itself,
            _ => Owner::Uncertain,
        }
    }

    fn caller(&mut self, call: &Call<'_>, text_of: &mut TextOf<'_>) -> Option<Caller> {
        let url = &*call.url.0;
        if url.is_empty() || url.starts_with(OURS) {
            return None;
        }
        if !url.starts_with(INTERNAL) {
            return self.find(call, text_of).map(Caller::Listed);
        }
        let call = call.owned();
        let next =
            u32::try_from(self.others.len()).ok().filter(|next| (*next as usize) < MOST_CALLS)?;
        Some(Caller::Other(*self.others.entry(call).or_insert(next)))
    }

    fn add(&mut self, script: Script) {
        let listed = |function: super::coverage::Function| {
            let range = function.ranges.first().copied()?;
            let (start, end) =
                (range.start_offset.try_into().ok()?, range.end_offset.try_into().ok()?);
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
            self.lacks_some |= !is_cut(&call.url.0);
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
    fn inlined(&mut self, caller: Caller, line: u32, text_of: &mut TextOf<'_>) -> Option<Id> {
        let linked = self.linked(caller, text_of);
        let mut here: Vec<Id> = Vec::new();
        let own = match caller {
            Caller::Listed(id) => Some(id.0),
            Caller::Other(_) => None,
        };
        let scripts: FxHashSet<u32> = linked.iter().map(|id| id.0).chain(own).collect();
        for script in scripts {
            let Some(layout) = self.layout(script, text_of) else { continue };
            here.extend(
                layout.owners(line).filter(|owner| *owner != TOP).map(|owner| (script, owner)),
            );
        }
        let mut found: Vec<Id> = here.iter().copied().filter(|id| linked.contains(id)).collect();
        let has_run = |id: &Id| {
            let functions = self.scripts.get(id.0 as usize).map(|script| &script.functions);
            functions
                .and_then(|functions| functions.get(id.1 as usize))
                .is_some_and(|it| it.has_run)
        };
        if found.len() > 1 {
            found.retain(has_run);
        }
        let [only] = found[..] else { return None };
        // A function of the caller's own script that it does not name may be called through a variable.
        let has_rival = here.iter().any(|id| Some(id.0) == own && *id != only);
        (Some(only.0) == own || !has_rival).then_some(only)
    }

    /// What a function may call, and those again: what its text names, what is inside of it, and what it was seen to
    /// call.
    fn linked(&mut self, caller: Caller, text_of: &mut TextOf<'_>) -> Rc<FxHashSet<Id>> {
        if let Some(known) = self.linked.get(&caller) {
            return Rc::clone(known);
        }
        let mut all: FxHashSet<Caller> = FxHashSet::default();
        let mut level = vec![caller];
        for _ in 0..DEEPEST {
            let mut next = Vec::new();
            for one in std::mem::take(&mut level) {
                let seen = self.calls.get(&one).into_iter().flatten().copied();
                let mut called: Vec<Caller> = seen.collect();
                if let Caller::Listed(id) = one {
                    called.extend(self.called(id, text_of).into_iter().map(Caller::Listed));
                }
                let is_new =
                    |one: &Caller| *one != caller && all.len() < MOST_LINKED && all.insert(*one);
                next.extend(called.into_iter().filter(is_new));
            }
            level = next;
        }
        let listed = |caller: &Caller| match caller {
            Caller::Listed(id) => Some(*id),
            Caller::Other(_) => None,
        };
        let all: Rc<FxHashSet<Id>> = Rc::new(all.iter().filter_map(listed).collect());
        self.linked.insert(caller, Rc::clone(&all));
        all
    }

    fn called(&mut self, (script, function): Id, text_of: &mut TextOf<'_>) -> Vec<Id> {
        let Some(layout) = self.layout(script, text_of) else { return Vec::new() };
        let mut called: Vec<Id> = layout.inside(function).map(|inner| (script, inner)).collect();
        let words = layout.words(function).to_vec();
        called.extend(words.iter().flat_map(|word| self.named(*word, script)));
        called
    }

    /// The functions of a name, as a script may mean it.
    fn named(&self, word: u32, script: u32) -> impl Iterator<Item = Id> {
        let named = self.by_word.get(&word).map_or(&[][..], Vec::as_slice);
        let is_rare = named.len() <= MOST_NAMESAKES;
        named.iter().copied().filter(move |id| is_rare || id.0 == script)
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

/// V8's profiler cuts the names of scripts after this many units of UTF-16; its list of functions does not.
const LONGEST_URL: usize = 1024;

fn is_cut(url: &str) -> bool {
    url.len() >= LONGEST_URL && url.encode_utf16().count() >= LONGEST_URL
}

#[cfg(test)]
#[path = "functions/tests.rs"]
mod tests;

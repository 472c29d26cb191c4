//! What a sleeping stack waits for, by a table of rules on its frames. The call that is named is the one that the user
//! wrote: the outermost function of Node below their own code, such as `execSync` above `spawnSync`.

use profile::{Category, FunctionId, Profile, StackId};

/// What a thread waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wait {
    /// What it is, where a rule knows: `a child process`.
    pub what: Option<&'static str>,
    /// The call: `execSync`.
    pub call: Option<String>,
}

impl Wait {
    /// Both, in one text: `a child process: execSync`.
    pub fn text(&self) -> String {
        match (self.what, &self.call) {
            (Some(what), Some(call)) => format!("{what}: {call}"),
            (Some(what), None) => what.to_owned(),
            (None, call) => call.clone().unwrap_or_default(),
        }
    }
}

/// Calls of Node's own modules, by the script that defines them.
const SCRIPTS: &[(&str, &str)] = &[
    ("node:child_process", "a child process"),
    ("node:internal/child_process", "a child process"),
    ("node:fs", "a file"),
    ("node:internal/fs/", "a file"),
    ("node:internal/modules/", "a module that is loaded"),
    ("node:dns", "a name server"),
];

/// Native functions that show what the call is, whatever calls them: what they contain, what it is, and the call.
const NATIVE: &[(&str, Option<&str>, Option<&str>)] = &[
    ("AtomicsWait", None, Some("Atomics.wait")),
    ("FutexEmulation::Wait", None, Some("Atomics.wait")),
    ("node::SyncProcessRunner", Some("a child process"), None),
];

/// Functions in which the worker of a pool waits for its next task in a turn, because that is faster than its poll: their
/// packages and names. A worker that is there is free.
const IDLE: &[(&str, &str)] = &[("piscina", "atomicsWaitLoop"), ("tinypool", "atomicsWaitLoop")];

/// For each stack, whether it waits for work: nothing of people's but one of these functions is below the last call.
/// Empty where no function is one of these.
pub(super) fn idle_stacks(profile: &Profile) -> Vec<bool> {
    let functions = profile.functions();
    let is_idle = |id: FunctionId| {
        let row = functions.row(id);
        let package = row.package.some().map(|id| profile.text(id));
        IDLE.contains(&(package.unwrap_or_default(), profile.text(row.name)))
    };
    let idle: Vec<bool> = functions.ids().map(is_idle).collect();
    if !idle.contains(&true) {
        return Vec::new();
    }
    let stacks = profile.stacks();
    let mut is_idle: Vec<bool> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let row = stacks.row(id);
        is_idle.push(match row.category {
            Category::App | Category::Dependency => {
                idle[profile.frames().function[row.frame.index()].index()]
            }
            _ => row.parent.some().is_some_and(|parent| is_idle[parent.index()]),
        });
    }
    is_idle
}

/// What the stack waits for; none for no stack.
pub(super) fn wait_of(profile: &Profile, stack: StackId) -> Option<Wait> {
    stack.some()?;
    let (callees, is_called) = callees(profile, stack);
    // Without a caller in the user's code or a package the outermost call is Node's own: it would be the wrong one.
    let node_call = callees.iter().rev().find(|callee| is_called && callee.is_of_node());
    let by_script = node_call.and_then(Callee::by_script);
    let native =
        NATIVE.iter().find(|(part, ..)| callees.iter().any(|callee| callee.name.contains(part)));
    let is_gc = callees.iter().any(|callee| callee.category == Category::Gc);
    let what = match native {
        _ if is_gc => Some("helper threads of the garbage collector"),
        Some((_, what, _)) => what.or(by_script),
        None => by_script,
    };
    let call = match native {
        _ if is_gc => None,
        Some((_, _, Some(call))) => Some((*call).to_owned()),
        _ => node_call
            .map(|callee| callee.name.to_owned())
            .or_else(|| native_call(&callees, is_called)),
    };
    Some(Wait { what, call })
}

/// A frame that the user's code or a package called.
struct Callee<'a> {
    name: &'a str,
    script: Option<&'a str>,
    category: Category,
}

impl Callee<'_> {
    /// Whether it is a function of Node's JavaScript.
    fn is_of_node(&self) -> bool {
        self.category == Category::NodeCore
            && self.script.is_some_and(|script| script.starts_with("node:"))
    }

    fn by_script(&self) -> Option<&'static str> {
        let script = self.script?;
        SCRIPTS.iter().find(|(start, _)| script.starts_with(start)).map(|(_, what)| *what)
    }
}

/// The frames from the leaf down to the user's code or a package's, without it, and whether there is such code.
fn callees(profile: &Profile, stack: StackId) -> (Vec<Callee<'_>>, bool) {
    let is_theirs = |category: Category| matches!(category, Category::App | Category::Dependency);
    let rows = profile.ancestry(stack).map(|id| profile.stacks().row(id));
    let mut callees = Vec::new();
    for row in rows {
        if is_theirs(row.category) {
            return (callees, true);
        }
        let function = profile.function_of(row.frame);
        let script = profile.source_path(function.source);
        callees.push(Callee { name: profile.text(function.name), script, category: row.category });
    }
    (callees, false)
}

/// The outermost native function: of an addon where there is one; V8's own entries explain nothing.
fn native_call(callees: &[Callee<'_>], is_called: bool) -> Option<String> {
    let of =
        |category: Category| callees.iter().rev().find(move |callee| callee.category == category);
    let others = [Category::NodeCore, Category::System];
    let other = others.into_iter().filter(|_| is_called).find_map(of);
    let found = of(Category::Addon).or(other)?;
    // Without its parameters.
    let name = found.name.split_once('(').map_or(found.name, |(name, _)| name);
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

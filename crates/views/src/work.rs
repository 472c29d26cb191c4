//! What a stack does for the user's function that called it: collects garbage, parses JSON, reads a file on the spot.
//! Knowledge is the table of signs: frames by which a kind of work is recognised. A stack does one kind of work, the
//! outermost one below the function that asked for it, so that no time counts twice.

use std::sync::OnceLock;

use profile::{Category, FunctionId, Profile, StackId, StringId};

use crate::entries::{Entries, EntryKind, entries};
use crate::text::fit_start;

/// A kind of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// Anything else: the code itself.
    #[default]
    Own,
    /// Garbage collection.
    Gc,
    /// Files, synchronously.
    Files,
    /// Keys, hashes, signatures, synchronously.
    Crypto,
    /// Compression, synchronously.
    Compression,
    /// A child process, synchronously.
    Child,
    /// JSON.
    Json,
    /// Deep copies.
    Copies,
    /// Regular expressions.
    Regexp,
    /// Modules that are loaded.
    Modules,
    /// Code that is compiled.
    Compiling,
    /// Lines written to standard output and standard error.
    Output,
}

impl Work {
    /// Whether it is a call that a thread may sleep in. Other work is done on a CPU: a thread that sleeps there waits for
    /// something else.
    pub(crate) fn blocks(self) -> bool {
        matches!(
            self,
            Self::Files
                | Self::Crypto
                | Self::Compression
                | Self::Child
                | Self::Modules
                | Self::Output
        )
    }

    /// Whether an entry shows that it belongs to a start, where it does no harm: nothing waits for the loop yet.
    /// Modules must be asked for by something that is served. Tests and builds load what they work on.
    pub(crate) fn is_of_start(self, asked_by: EntryKind) -> bool {
        match self {
            Self::Modules => {
                !asked_by.is_kept() || matches!(asked_by, EntryKind::Test | EntryKind::Build)
            }
            Self::Child
            | Self::Files
            | Self::Crypto
            | Self::Compression
            | Self::Output
            | Self::Compiling => matches!(asked_by, EntryKind::Startup | EntryKind::Loading),
            Self::Own | Self::Gc | Self::Json | Self::Copies | Self::Regexp => false,
        }
    }
}

/// How a frame shows a kind of work.
enum Sign {
    /// A function of one of Node's own scripts: how its path begins, and how the function's name ends.
    Script(&'static str, &'static str),
    /// A native function whose name contains this.
    Native(&'static str),
    /// The category of the frame.
    Category(Category),
    /// A function of a package, or any where none is named.
    Package(&'static str, &'static [&'static str]),
}

/// What runs at the top level of Node's own scripts is Node's start, and never works for a function of people: a perf map
/// that does so has an old name for an address.
const TOP_LEVEL: &str = "(top level)";

/// What people call it: a name, none (`""`), or the function's own name behind `prefix`.
struct Called {
    prefix: &'static str,
    name: Option<&'static str>,
}

const ITS_NAME: Called = Called { prefix: "", name: None };

const NO_NAME: Called = named("");

const fn named(name: &'static str) -> Called {
    Called { prefix: "", name: Some(name) }
}

/// The columns that a pattern may take in a sentence.
const LONGEST_PATTERN: usize = 60;

/// No frame shows which of the two it is.
const WRITE: &str = "process.stdout/stderr.write";

/// The deep copies of lodash.
const LODASH: &[&str] = &["cloneDeep", "cloneDeepWith", "defaultsDeep"];

/// The signs; the first that fits counts.
const SIGNS: &[(Work, Sign, Called)] = &[
    (
        Work::Output,
        Sign::Script("node:internal/console/", ""),
        Called { prefix: "console.", name: None },
    ),
    (Work::Output, Sign::Script("node:internal/fs/sync_write_stream", ""), named(WRITE)),
    // Its output is a pipe. What it writes to a child is a socket (libuv makes pairs of them), and that and files have other
    // functions in the kernel.
    (Work::Output, Sign::Native("pipe_write"), named(WRITE)),
    (Work::Modules, Sign::Script("node:internal/modules/esm/", ""), named("import")),
    (Work::Modules, Sign::Script("node:internal/modules/", ""), named("require")),
    (Work::Child, Sign::Script("node:child_process", "Sync"), ITS_NAME),
    (Work::Child, Sign::Script("node:internal/child_process", "Sync"), ITS_NAME),
    (Work::Files, Sign::Script("node:fs", "Sync"), ITS_NAME),
    (Work::Files, Sign::Script("node:internal/fs/", "Sync"), ITS_NAME),
    (Work::Crypto, Sign::Script("node:internal/crypto/", ""), ITS_NAME),
    // All of its calls are one function, which has another name.
    (Work::Compression, Sign::Script("node:zlib", "Sync"), NO_NAME),
    (Work::Copies, Sign::Script("node:internal/structured_clone", ""), named("structuredClone")),
    (Work::Copies, Sign::Native("::StructuredClone"), named("structuredClone")),
    (Work::Copies, Sign::Native("::ValueSerializer::"), named("structuredClone")),
    (Work::Copies, Sign::Native("::ValueDeserializer::"), named("structuredClone")),
    (Work::Copies, Sign::Package("lodash", LODASH), ITS_NAME),
    (Work::Copies, Sign::Package("lodash", &["baseClone"]), named("cloneDeep")),
    // A merge copies what it merges. It is made by a function that has no name.
    (Work::Copies, Sign::Package("lodash", &["baseMerge"]), named("merge")),
    (Work::Copies, Sign::Package("lodash.clonedeep", &[]), named("cloneDeep")),
    (Work::Copies, Sign::Package("lodash.merge", &[]), named("merge")),
    (Work::Copies, Sign::Package("rfdc", &[]), named("rfdc")),
    (Work::Copies, Sign::Package("klona", &[]), named("klona")),
    (Work::Copies, Sign::Package("clone", &[]), named("clone")),
    (Work::Copies, Sign::Package("clone-deep", &[]), named("clone-deep")),
    (Work::Copies, Sign::Package("fast-copy", &[]), named("fast-copy")),
    (Work::Json, Sign::Native("Builtin_JsonParse"), named("JSON.parse")),
    (Work::Json, Sign::Native("Builtin_JsonStringify"), named("JSON.stringify")),
    (Work::Json, Sign::Native("Runtime_BasicJSONStringify"), named("JSON.stringify")),
    (Work::Regexp, Sign::Category(Category::Regexp), NO_NAME),
    (Work::Compiling, Sign::Category(Category::Compiler), NO_NAME),
];

/// What a stack does, and for which function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doing {
    /// The kind of work.
    pub(crate) work: Work,
    /// The stack of the nearest function of the application, or where there is none of a package.
    pub(crate) owner: StackId,
    /// Whether that is one of the application.
    pub(crate) is_app: bool,
    /// The function by which the work was recognised, and the row of the sign.
    sign: Option<(FunctionId, u16)>,
    /// The first function of the package that works for the application, where the nearest of these functions is one.
    pub(crate) callee: FunctionId,
    /// Its package.
    pub(crate) package: StringId,
}

const NOTHING: Doing = Doing {
    work: Work::Own,
    owner: StackId::NONE,
    is_app: false,
    sign: None,
    callee: FunctionId::NONE,
    package: StringId::NONE,
};

impl Doing {
    /// What people call it: `JSON.parse`, `readFileSync`, `/^(a+)+$/`.
    pub(crate) fn call(&self, profile: &Profile) -> Option<String> {
        let (function, row) = self.sign?;
        let Called { prefix, name } = &SIGNS.get(usize::from(row))?.2;
        let own = || profile.text(profile.functions().name[function.index()]);
        if self.work == Work::Regexp {
            return is_pattern(profile, function).then(|| fit_start(own(), LONGEST_PATTERN));
        }
        Some(format!("{prefix}{}", name.unwrap_or_else(own))).filter(|call| !call.is_empty())
    }
}

/// What each stack does, and what asked for it.
#[derive(Debug, Default)]
pub(crate) struct Doings {
    of_stack: Vec<Doing>,
    /// Many questions need no entries, and they take as long as the rest.
    entries: OnceLock<Entries>,
}

impl Doings {
    /// Looks at every stack once; parents come first.
    pub(crate) fn new(profile: &Profile) -> Self {
        let signs = signs_of_functions(profile);
        let stacks = profile.stacks();
        let mut doings: Vec<Doing> = Vec::with_capacity(stacks.len());
        for id in stacks.ids() {
            let row = stacks.row(id);
            let caller = row.parent.some().map_or(NOTHING, |parent| doings[parent.index()]);
            let function = profile.frames().function[row.frame.index()];
            let frame = Frame { stack: id, function, category: row.category };
            doings.push(frame.doing(profile, caller, signs[function.index()]));
        }
        Self { of_stack: doings, entries: OnceLock::new() }
    }

    pub(crate) fn of(&self, stack: StackId) -> Doing {
        stack.some().map_or(NOTHING, |stack| self.of_stack[stack.index()])
    }

    /// The entries of the same profile.
    pub(crate) fn entries(&self, profile: &Profile) -> &Entries {
        self.entries.get_or_init(|| entries(profile))
    }
}

/// A frame whose callers are known.
struct Frame {
    stack: StackId,
    function: FunctionId,
    category: Category,
}

impl Frame {
    fn doing(&self, profile: &Profile, caller: Doing, sign: Option<u16>) -> Doing {
        let is_package = self.category == Category::Dependency;
        let is_program = is_package || self.category == Category::App;
        // What a module does while it is loaded is loading, also where the application wrote it.
        if self.category == Category::Gc && caller.work != Work::Gc {
            return Doing { work: Work::Gc, sign: None, ..caller };
        }
        if matches!(caller.work, Work::Gc | Work::Modules) {
            return caller;
        }
        let caller = match is_program {
            true => self.program(profile, caller, is_package),
            false => caller,
        };
        let by_category = |category: Category| {
            SIGNS
                .iter()
                .position(|(_, sign, _)| matches!(sign, Sign::Category(its) if *its == category))
        };
        let row =
            sign.or_else(|| by_category(self.category).and_then(|row| u16::try_from(row).ok()));
        match row.and_then(|row| Some((row, SIGNS.get(usize::from(row))?.0))) {
            Some((row, work)) if caller.work == Work::Own => {
                Doing { work, sign: Some((self.function, row)), ..caller }
            }
            // V8's functions for regular expressions call the code of the pattern.
            Some((row, Work::Regexp))
                if caller.work == Work::Regexp && is_pattern(profile, self.function) =>
            {
                Doing { sign: Some((self.function, row)), ..caller }
            }
            _ => caller,
        }
    }

    /// A function of the program, the user's or a package's: what it does is its own work again.
    fn program(&self, profile: &Profile, caller: Doing, is_package: bool) -> Doing {
        // A copy that a package makes is one work, however many functions of it take part.
        if is_package && caller.work == Work::Copies {
            return caller;
        }
        let package = profile.functions().package[self.function.index()];
        let is_new = !is_package || !caller.is_app;
        let is_same = is_package && caller.package == package && caller.callee.some().is_some();
        Doing {
            work: Work::Own,
            sign: None,
            owner: if is_new { self.stack } else { caller.owner },
            is_app: !is_package || caller.is_app,
            callee: match is_package {
                true if is_same => caller.callee,
                true => self.function,
                false => FunctionId::NONE,
            },
            package: if is_package { package } else { StringId::NONE },
        }
    }
}

/// Whether a function of the category is the pattern itself: it is written as in a program.
fn is_pattern(profile: &Profile, function: FunctionId) -> bool {
    let row = profile.functions().row(function);
    row.source.some().is_none() && profile.text(row.name).starts_with('/')
}

/// For each function the row of its sign, as far as name, script and package show it.
fn signs_of_functions(profile: &Profile) -> Vec<Option<u16>> {
    let functions = profile.functions();
    let sign = |id: FunctionId| {
        let function = functions.row(id);
        let name = profile.text(function.name);
        let script = profile.source_path(function.source).unwrap_or_default();
        let package = function.package.some().map(|id| profile.text(id));
        let fits = |(_, sign, _): &(Work, Sign, Called)| match sign {
            Sign::Script(start, end) => {
                script.starts_with(start) && name.ends_with(end) && name != TOP_LEVEL
            }
            Sign::Native(part) => script.is_empty() && name.contains(part),
            Sign::Package(its, names) => {
                package == Some(its) && (names.is_empty() || names.contains(&name))
            }
            Sign::Category(_) => false,
        };
        SIGNS.iter().position(fits).and_then(|row| u16::try_from(row).ok())
    };
    functions.ids().map(sign).collect()
}

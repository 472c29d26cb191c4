//! What people type. clap's types stay here; each command turns its own into meaning once. Help texts, man
//! pages and shell completions are made from these definitions.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
mod rate;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::SystemCommand;
#[cfg(target_os = "linux")]
pub(crate) use linux::{Doctor, Dump, Ps, SystemCommand, Top};
pub(crate) use rate::Rate;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// What `--version` prints: the release, the commit and the target; build.rs knows the last two.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("NODESCOPE_COMMIT"),
    ", ",
    env!("NODESCOPE_TARGET"),
    ")"
);

/// Profiles Node.js and shows where its time went.
#[derive(Debug, Parser)]
#[command(name = "nodescope", version = VERSION, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(Record),
    #[command(flatten)]
    System(SystemCommand),
    Demo(Demo),
    View(View),
    Report(Report),
    Diff(Diff),
    Export(Export),
    Completions(Completions),
    Man(Man),
}

/// Profile a running process, or a command: where its CPU time goes from now on
///
/// Kernel, native and JavaScript code, on all threads and in all processes that it starts. Node needs no option for
/// that: JavaScript's names and lines are read from its memory while it runs. Names without an option are for x86-64 so
/// far; on other processors start Node with --perf-basic-prof, or use --via inspector.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  nodescope record 4140 -d 10s
  nodescope record server.js
  nodescope record -p 4140,4141 -o flame.svg
  nodescope record 4140 --via inspector
  nodescope record -- node app.js")]
pub(crate) struct Record {
    #[command(flatten)]
    pub(crate) processes: Processes,
    /// Everything that runs on this machine
    #[arg(long, short = 'a')]
    pub(crate) system: bool,
    /// How long: 30s, 500ms, 2m; Ctrl-C ends it earlier, and keeps what was recorded; nodescope then waits for a
    /// command that still runs [default: 30s; with a command, until it ends]
    #[arg(long, short, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Samples a second of each busy thread; auto: 99, and 999 while all threads together use less than a tenth of a
    /// CPU
    #[arg(long, short = 'F', value_name = "N|auto", default_value = "auto")]
    pub(crate) frequency: Rate,
    /// Do not read the target's memory: JavaScript then has names only from a perf map
    #[arg(long)]
    pub(crate) no_heap: bool,
    /// Also this event, as a lane of its own: page-faults, context-switches, cycles, sched:sched_switch … [several: -e
    /// a,b]
    #[arg(long, short, value_name = "EVENT", value_delimiter = ',')]
    pub(crate) event: Vec<String>,
    #[command(flatten)]
    pub(crate) way: WayIn,
    #[command(flatten)]
    pub(crate) maps: SourceMaps,
    #[command(flatten)]
    pub(crate) own: OwnPackages,
    #[command(flatten)]
    pub(crate) texts: SourceTexts,
    /// Where to write: the ending says which form; `-` is stdout [default: nodescope-NAME-PID-TIME.nodescope]
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// The form, whatever OUT's ending says: nodescope, html, svg, folded, cpuprofile, speedscope, pprof, firefox or
    /// json
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Replace OUT if it exists. Without this, nodescope asks on a terminal and fails elsewhere
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Also write the page of the recording, OUT.html, and open it in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Start this and record it until it ends; nodescope exits with its status
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Which processes are meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Processes {
    /// The process: its pid, its application (the name in its package.json, or pm2's), its script's path, the name of
    /// its container or pod, or words of its command line
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// The processes, by their pids [several: -p 12,13]
    #[arg(long, short, value_name = "PID", value_delimiter = ',')]
    pub(crate) pid: Vec<u32>,
    /// Only in this container, by its name or the start of its id, or in this pod
    #[arg(long, short, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// Only processes whose command line matches
    #[arg(long = "match", value_name = "REGEXP")]
    pub(crate) matching: Option<String>,
    /// Every process that matches
    #[arg(long)]
    pub(crate) all: bool,
    /// Leave out the processes that it has started
    #[arg(long)]
    pub(crate) no_children: bool,
}

/// How a process is reached.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Way in")]
pub(crate) struct WayIn {
    /// auto: perf events where they are permitted and give names, else the inspector where its port is open already;
    /// inspector: Node's own profiler; SIGUSR1 opens its port if it is closed, and nodescope closes it afterwards
    #[arg(long, value_enum, default_value_t = Via::Auto, value_name = "WAY")]
    pub(crate) via: Via,
    /// The inspector at this address, which you have forwarded or know: HOST:PORT, or the ws://… that Node prints
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) connect: Option<String>,
    /// Inspector: where there are several processes, each in turn for this long [default: one after another, each for
    /// the whole duration]
    #[arg(long, value_name = "TIME")]
    pub(crate) each: Option<String>,
    /// Inspector: also count every call of every function, exactly. That costs: V8 optimises nothing meanwhile
    #[arg(long)]
    pub(crate) calls: bool,
    /// Inspector: allow more than 1000 samples a second, which slows the target, and a process that Node already
    /// profiles
    #[arg(long)]
    pub(crate) force: bool,
    /// Inspector: state that the program has no SIGUSR1 listener of its own; needed only if its memory does not show
    /// that
    #[arg(long)]
    pub(crate) no_sigusr1_listener: bool,
}

/// A way in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    #[default]
    Auto,
    Perf,
    Inspector,
}

/// A sample service under load, recorded and shown: nothing else is needed
///
/// A small web shop on the Node that is in your PATH, with load from nodescope itself, recorded as `nodescope record`
/// would record your own. Without Node, or where recording is not permitted, a recording that ships with nodescope
/// is shown, and it says so. Nothing keeps running afterwards.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  nodescope demo
  nodescope demo -d 5s -o flame.svg")]
pub(crate) struct Demo {
    /// How long: 10s, 500ms, 2m
    #[arg(long, short, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: String,
    /// Samples a second of each busy thread; auto: 99, and 999 while all threads together use less than a tenth of a
    /// CPU
    #[arg(long, short = 'F', value_name = "N|auto", default_value = "auto")]
    pub(crate) frequency: Rate,
    /// Where to write: the ending says which form; `-` is stdout [default: nodescope-demo-TIME.nodescope]
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Open no browser: without this, the page of the recording is written, too, and opened where there is a screen
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Between two requests of a client, for recordings that are compared; without it what suits the machine
    #[arg(long, hide = true, value_name = "MS")]
    pub(crate) pause_ms: Option<u64>,
}

/// Look at a recording in the browser: heat map, flame graph, tables
///
/// FILE is any recording that nodescope knows; see `nodescope report --help`. Two of them are compared, the first as
/// before; a folder is a list of the recordings in it, and without FILE it is this folder. The page is served by
/// nodescope itself, to this machine alone and only to the browser that opens the printed address first, until you
/// press Ctrl-C.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  nodescope view nodescope-api-4140-20261115-031502.nodescope
  nodescope view before.cpuprofile after.cpuprofile
  nodescope view recordings/
  perf script | nodescope view -")]
pub(crate) struct View {
    /// Recordings, and folders of them; `-` is stdin [default: this folder]
    #[arg(value_name = "FILE|DIR")]
    pub(crate) files: Vec<PathBuf>,
    /// Open no browser; the address goes to stdout
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The port of 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) folders: SourceFolders,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The answer as text: where the time went, the hottest functions, packages, lines and threads
///
/// FILE is any recording that nodescope knows, recognised by its content: our own .nodescope, perf.data, `perf script`
/// text, .cpuprofile, Chrome and Node traces, V8 --prof logs, folded stacks, DTrace or bpftrace stack text, pprof,
/// speedscope JSON, each also compressed with gzip or zstd.
#[derive(Args, Debug)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    /// Only this process [several: --pid 12,13]
    #[arg(long, short, value_name = "PID", value_delimiter = ',', help_heading = "Narrowing")]
    pub(crate) pid: Vec<u32>,
    /// The lines of one function, with what each took beside the text: its name, file:line, or an expression that its
    /// name or file matches; the hottest of several
    #[arg(long, value_name = "FUNCTION", conflicts_with = "markdown")]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) folders: SourceFolders,
    /// Print one JSON object instead of tables; shares are numbers from 0 to 1
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown of at most 4 kB, for a ticket or a language model
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// How many rows each table shows; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 15)]
    pub(crate) rows: usize,
    /// What the tables are sorted by
    #[arg(long, value_enum, default_value_t = Sort::SelfTime, value_name = "COLUMN")]
    pub(crate) sort: Sort,
    /// Colours: auto, always or never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// What changed from one recording to another, and whether that is more than noise
///
/// It compares what a second of each recording used: a function that did not change stays out, also where another one got
/// faster. BEFORE and AFTER are any recordings that nodescope knows; see `nodescope report --help`. `nodescope view BEFORE
/// AFTER` shows the same in the browser.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  nodescope diff monday.nodescope tuesday.nodescope
  nodescope diff before.cpuprofile after.cpuprofile --shares")]
pub(crate) struct Diff {
    /// The older recording; `-` is stdin
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The newer recording; `-` is stdin
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Compare all threads of all processes, and not the busiest main loop of each
    #[arg(long)]
    pub(crate) all_threads: bool,
    /// Compare shares of all that was used: for two recordings under another load
    #[arg(long)]
    pub(crate) shares: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// How many functions are shown; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 15)]
    pub(crate) rows: usize,
    /// Colours: auto, always or never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Write another form of a recording: chosen by OUT's ending, or --to
///
/// FILE is any recording that nodescope knows; see `nodescope report --help`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  nodescope export perf.data -o page.html
  nodescope export perf.data -o page.html --with-source
  nodescope export after.nodescope -o compared.html --against before.nodescope
  nodescope export perf.data -o flame.svg
  nodescope export perf.data -o all-frames.svg --lens everything
  nodescope export recording.nodescope -o for-others.html --redact
  nodescope export perf.txt.gz -o - --to folded --all
  perf script | nodescope export - -o recording.nodescope
  nodescope export recording.nodescope -o burst.svg --range 12.5s..14s --thread main")]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Where to write; `-` is stdout
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The form: nodescope, html, svg, folded, cpuprofile, speedscope, pprof, firefox or json; without it, OUT's ending
    /// says
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) texts: SourceTexts,
    /// html: compare FILE with this older recording, as `view BEFORE FILE` does; the page has both inside
    #[arg(long, value_name = "BEFORE")]
    pub(crate) against: Option<PathBuf>,
    /// Take out the host, paths, command lines and the names of your own code: the same name becomes the same stand-in.
    /// Packages, Node and the engine keep their names, and all numbers stay
    #[arg(long, conflicts_with_all = ["with_source", "search", "against"])]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    /// With PID: only this process [several: --pid=12,13]. Alone, for folded: the pid behind each process name
    #[arg(long, short, value_name = "PID", num_args = 0..=1, default_missing_value = "", help_heading = "Narrowing")]
    pub(crate) pid: Option<String>,
    /// Show what a function awaits as its callee, as report and svg do; without this, other forms have physical stacks
    #[arg(long = "async", conflicts_with = "physical")]
    pub(crate) with_awaits: bool,
    /// svg, folded: how much of a stack is shown: code, packages, node or everything [default: svg: code, or packages
    /// where there is next to none of yours; folded: everything]
    #[arg(long, value_name = "LENS")]
    pub(crate) lens: Option<String>,
    #[command(flatten)]
    pub(crate) folded: Folded,
    #[command(flatten)]
    pub(crate) svg: Svg,
}

/// The recording to read.
#[derive(Args, Debug)]
pub(crate) struct Input {
    /// The recording; `-` is stdin; several are joined into one, such as the logs of all isolates
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How recordings are read.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reading {
    /// How many threads read it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    #[command(flatten)]
    pub(crate) maps: SourceMaps,
    #[command(flatten)]
    pub(crate) own: OwnPackages,
    #[command(flatten)]
    pub(crate) names: Names,
}

/// Whether generated code is shown as what it was made from.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SourceMaps {
    /// Show TypeScript and bundled code as Node ran it, not by the source maps of its scripts
    #[arg(long)]
    pub(crate) no_source_maps: bool,
}

/// Which packages are the user's own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OwnPackages {
    /// Count packages of this name as your own code, with * for any text: '@acme/*' [several: --own A --own B].
    /// Workspaces are your own without this
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) own: Vec<String>,
}

impl OwnPackages {
    /// What was typed, as patterns.
    pub(crate) fn names(&self) -> profile::OwnNames {
        profile::OwnNames::new(&self.own)
    }
}

/// Whether the text of scripts goes along.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SourceTexts {
    /// Put the text of the hottest JavaScript and TypeScript files into the .html or .nodescope file, up to 8 MB: every
    /// recipient of the file can read them
    #[arg(long)]
    pub(crate) with_source: bool,
}

/// Where the text of scripts is that ran on another machine.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SourceFolders {
    /// The scripts that were below PREFIX where they ran are below DIR here: /app=. [several: once for each]
    #[arg(long, value_name = "PREFIX=DIR")]
    pub(crate) sources: Vec<String>,
}

/// Where names come from, for a recording of addresses.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Names for perf.data")]
pub(crate) struct Names {
    /// The root folder of the recorded container: its binaries, perf maps, scripts and source maps come before ours
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The kernel's functions, as its /proc/kallsyms had them [default: this kernel's, if it is the same]
    #[arg(long, value_name = "FILE")]
    pub(crate) kallsyms: Option<PathBuf>,
    /// A perf map, of one process or of all [default: /tmp/perf-PID.map]
    #[arg(long, value_name = "FILE[:PID]")]
    pub(crate) perf_map: Vec<String>,
    /// Do not demangle C++ and Rust names
    #[arg(long)]
    pub(crate) no_demangle: bool,
}

/// Which samples are meant.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Narrowing")]
pub(crate) struct Narrow {
    /// Only from..to, counted from the start: 12.5s..14s, 500ms..2s, 1m.. or ..90s; the end is not included
    #[arg(long, value_name = "FROM..TO", allow_hyphen_values = true)]
    pub(crate) range: Option<String>,
    /// Only these threads: a name, a thread id, or a role (main, worker, pool, v8) [several: main,pool]
    #[arg(long, short, value_name = "THREAD", value_delimiter = ',')]
    pub(crate) thread: Vec<String>,
    /// Only samples with a function, file or package on the stack that matches; case matters only if the pattern has a
    /// capital letter
    #[arg(long, short, value_name = "REGEXP")]
    pub(crate) search: Option<String>,
    /// Only the work that this asked for: a kind (http, timer, immediate, job, test … as report --json names them), or
    /// what matches kind, function, file and package, such as http.*list
    #[arg(long, value_name = "KIND|REGEXP")]
    pub(crate) entry: Option<String>,
    /// Only samples of these categories, such as app,gc,regexp
    #[arg(long, value_name = "CATEGORY", value_delimiter = ',')]
    pub(crate) category: Vec<String>,
    /// Leave out frames of these categories and give their time to the caller
    #[arg(long, value_name = "CATEGORY", value_delimiter = ',')]
    pub(crate) hide: Vec<String>,
    /// The event to show, where the recording has several [default: the first]
    #[arg(long, short, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Physical stacks: what runs after an await has V8's microtask queue as its caller, not the function that awaits
    /// it
    #[arg(long)]
    pub(crate) physical: bool,
}

/// How folded stacks are spelt.
#[derive(Args, Debug)]
#[command(next_help_heading = "Folded stacks (as stackcollapse-perf.pl)")]
pub(crate) struct Folded {
    /// Pid and thread id behind each process name
    #[arg(long)]
    pub(crate) tid: bool,
    /// Mark kernel functions with _[k]
    #[arg(long)]
    pub(crate) kernel: bool,
    /// Mark generated code with _[j]
    #[arg(long)]
    pub(crate) jit: bool,
    /// All marks: --kernel --jit
    #[arg(long)]
    pub(crate) all: bool,
    /// The address where there is no name
    #[arg(long)]
    pub(crate) addrs: bool,
}

/// How the flame graph looks.
#[derive(Args, Debug)]
#[command(next_help_heading = "Flame graph (svg)")]
pub(crate) struct Svg {
    /// Roots on top (icicle)
    #[arg(long)]
    pub(crate) inverted: bool,
    /// Merge from the leaves: the functions that ran stand at the bottom
    #[arg(long)]
    pub(crate) reverse: bool,
    /// The title
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Width in pixels [default: as wide as the window]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(200..=20_000))]
    pub(crate) width: Option<u32>,
    /// Leave out boxes narrower than this many percent [default: 0.1]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) min_width: Option<f64>,
    /// category, or a palette that is known from flamegraph.pl: js, hot, mem, io, java, red, green, blue …
    #[arg(long, value_name = "PALETTE")]
    pub(crate) colors: Option<String>,
}

/// Print a completion script for your shell
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write all pages into a folder
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write nodescope.1 and a page for each command here
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// What a table is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    #[value(name = "self")]
    SelfTime,
    #[value(name = "total")]
    Total,
}

/// The arguments as clap should see them. People who come from stackcollapse-perf.pl write a bare `--pid`
/// in front of the file; a file is no pid, so it must not be taken for one.
pub(crate) fn arguments(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = typed.collect();
    if arguments.get(1).is_none_or(|command| command != "export") {
        return arguments;
    }
    for row in 2..arguments.len().saturating_sub(1) {
        let follower = arguments[row + 1].to_string_lossy();
        let is_pids = !follower.is_empty()
            && follower.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        if arguments[row] == "--pid" && !is_pids {
            arguments[row] = "--pid=".into();
        }
    }
    arguments
}

/// What bare `nodescope` prints.
pub(crate) fn short_help() -> String {
    format!(
        "\
nodescope {version}: where the time of a Node.js process went

  nodescope demo                   a sample service under load, recorded and shown: nothing else is needed
  nodescope ps                     the Node processes here: pid, CPU, version, container, ways in
  nodescope record TARGET          profile a running process: a pid, a container, or words of its command line
  nodescope view [FILE|DIR]        heat map and flame graph in the browser; two files are compared
  nodescope report FILE            the answer as text: hottest functions, packages, lines, threads
  nodescope diff BEFORE AFTER      what got slower, what got faster, and whether that is more than noise
  nodescope export FILE -o OUT     another form: .html page, .svg flame graph, .folded, .cpuprofile, .pb.gz, …
  nodescope top [TARGET]           what it does right now, as it changes
  nodescope dump [TARGET]          the stack of every thread, now: for a process that hangs
  nodescope doctor [TARGET]        what this machine allows, and the command that would allow more
  nodescope completions SHELL      completion for bash, zsh, fish, …
  nodescope man                    the manual page

FILE is a perf.data, a .cpuprofile, a Chrome or Node trace, a V8 --prof log, `perf script` text, folded stacks,
DTrace or bpftrace stacks, pprof, speedscope JSON, or a .nodescope recording; may be compressed with gzip or zstd,
and - is stdin.

`nodescope help COMMAND` has its options and examples.
",
        version = env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn seen(words: &[&str]) -> Vec<String> {
        let typed = words.iter().map(|word| OsString::from(*word));
        arguments(typed).iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_bare_pid_swallows_no_file() {
        assert_eq!(
            seen(&["nodescope", "export", "--pid", "a.txt"]),
            ["nodescope", "export", "--pid=", "a.txt"]
        );
        assert_eq!(
            seen(&["nodescope", "export", "--pid", "12,13", "a"]),
            ["nodescope", "export", "--pid", "12,13", "a"]
        );
        assert_eq!(
            seen(&["nodescope", "report", "--pid", "12", "a"]),
            ["nodescope", "report", "--pid", "12", "a"]
        );
        assert_eq!(
            seen(&["nodescope", "export", "a", "--pid"]),
            ["nodescope", "export", "a", "--pid"]
        );
    }
}

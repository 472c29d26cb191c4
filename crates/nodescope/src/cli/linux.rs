//! Commands about processes that run here.

use clap::{Args, Subcommand};

use super::{Color, OwnPackages, Processes, SourceMaps};

// A doc comment would become the help text of the whole program.
#[derive(Debug, Subcommand)]
pub(crate) enum SystemCommand {
    Ps(Ps),
    Top(Top),
    Dump(Dump),
    Doctor(Doctor),
}

/// The Node processes here: pid, application, CPU, version, container, ports, folder, and how you can record them
///
/// nodescope recognises Node by its ELF file, not by its name. The busiest process comes first; npm, yarn, pnpm,
/// nodemon, pm2's daemon and whatever started nodescope come last, dimmed. Values of arguments are not shown.
#[derive(Args, Debug)]
#[command(after_help = "Ways in:
  perf        samples by perf_events; perf+names where JavaScript has names, too
  port 9229   the inspector listens on that port
  inspector   the inspector's port is closed, and SIGUSR1 would open it
Below the table, ps says why a way is closed.")]
pub(crate) struct Ps {
    /// Print a JSON array instead of a table, with the reason for each way in that is closed
    #[arg(long)]
    pub(crate) json: bool,
    /// Colours: auto, always or never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// What a running process does right now, as it changes: what stands out, what asked for the work, and the functions
/// that caused most of it, on one screen, until Ctrl-C
///
/// It samples as record does, and costs the process as little; nothing is written. Where stdout is no terminal, one
/// report follows the other.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  nodescope top 4140
  nodescope top server.js --every 1s --last 30s
  nodescope top -c web-3 -d 1m --json")]
pub(crate) struct Top {
    #[command(flatten)]
    pub(crate) processes: Processes,
    /// How often it changes
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub(crate) every: String,
    /// How much of the past it shows
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) last: String,
    /// How long: 30s, 500ms, 2m [default: until Ctrl-C, or the process ends]
    #[arg(long, short, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// How many rows each table has at most; 0 for all [default: what fits on the screen, or 10]
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) rows: Option<usize>,
    #[command(flatten)]
    pub(crate) maps: SourceMaps,
    #[command(flatten)]
    pub(crate) own: OwnPackages,
    /// Print reports as JSON instead, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Colours: auto, always or never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// The stack of every thread of a process, now: for one that hangs in a loop, a regular expression, a native call or an
/// await
///
/// JavaScript with the lines that run or call, native code and the kernel; sleeping threads, too. It takes about a
/// second, and the process is neither stopped nor changed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  nodescope dump 4140
  nodescope dump server.js --all-frames
  nodescope dump server.js --awaiting
  nodescope dump -c web-3 --json")]
pub(crate) struct Dump {
    /// The process: its pid, application, script, container, pod, or words of its command line [default: the only one]
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// The process, by its pid
    #[arg(long, short, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// Only in this container, by its name or the start of its id, or in this pod
    #[arg(long, short, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// Only a process whose command line matches
    #[arg(long = "match", value_name = "REGEXP")]
    pub(crate) matching: Option<String>,
    /// Also what V8, Node and the system do between the functions of JavaScript, with whole names
    #[arg(long)]
    pub(crate) all_frames: bool,
    /// Also the async functions that are suspended at an await, by place: where an idle service waits
    #[arg(long)]
    pub(crate) awaiting: bool,
    /// Print one JSON object instead, with all frames
    #[arg(long)]
    pub(crate) json: bool,
    /// Colours: auto, always or never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// What this machine allows you, and the exact command that would allow more
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Also look at this process: its pid, application, script, container, or words of its command line
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Print a JSON array instead
    #[arg(long)]
    pub(crate) json: bool,
    /// Colours: auto, always or never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

//! Commands about processes that run here.

use clap::{Args, Subcommand};

use super::Color;

// A doc comment would become the help text of the whole program.
#[derive(Debug, Subcommand)]
pub(crate) enum SystemCommand {
    Ps(Ps),
    Dump(Dump),
    Doctor(Doctor),
}

/// The Node processes here: pid, application, CPU, version, container, ports, folder, and how each can be
/// recorded
///
/// Node is told by its ELF file, not by its name. The busiest process comes first; npm, yarn, pnpm, nodemon, pm2's
/// daemon and whatever started nodescope come last, dimmed. Values of arguments are not shown.
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
    /// Also the async functions that are suspended at an await, by place: where a service waits that does nothing
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

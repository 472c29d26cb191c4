//! `nodescope doctor`: what this machine allows this user, and the exact command that would allow more. Each
//! check looks at one thing and says why it matters.

use std::fs;
use std::io::Read;
use std::time::Duration;

use capture::{AttachError, Options, Sampler, Scope};
use serde::Serialize;
use target::{InspectorWay, Places, Process, Role};

use crate::cli;
use crate::failure::Failure;
use crate::output;
use crate::record::choose;
use crate::style::Style;
use crate::text::{plural, printable, thousands, wrap};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    /// What it is about, in a word or two.
    what: &'static str,
    /// Whether nothing stands in the way there.
    ok: bool,
    /// What was found.
    found: String,
    /// What it means for a recording.
    why: &'static str,
    /// What to type to change it.
    fix: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &cli::Doctor) -> Result<(), Failure> {
    let mut checks = vec![perf_events(), kernel_symbols(), memory_reads(), containers()];
    let list = target::list(&Places::default(), Duration::ZERO)
        .map_err(|error| Failure::failed(format!("cannot read /proc: {error}")))?;
    match &arguments.target {
        Some(words) => {
            let process = choose::one(&list.processes, words)?;
            checks.extend(of_process(process));
        }
        None => checks.push(processes(&list.processes)),
    }
    if arguments.json {
        let mut text =
            serde_json::to_string_pretty(&checks).map_err(|error| Failure::failed(error.to_string()))?;
        text.push('\n');
        return output::print(&text);
    }
    output::print(&render(&checks, &Style::new(arguments.color)))
}

fn render(checks: &[Check], style: &Style) -> String {
    let mut text = String::new();
    let indented = |sentence: &str| {
        let wrapped = wrap(&printable(sentence), style.width.saturating_sub(4));
        wrapped.lines().map(|line| format!("    {line}\n")).collect::<String>()
    };
    for check in checks {
        let mark = if check.ok { "✓" } else { "✗" };
        text.push_str(&format!("{mark} {}: {}\n", style.bold(check.what), printable(&check.found)));
        if !check.ok {
            text.push_str(&indented(check.why));
        }
        if let Some(fix) = &check.fix {
            text.push_str(&indented(&format!("to change it: {fix}")));
        }
    }
    text
}

/// The first line of a file of the kernel's.
fn setting(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

fn number(path: &str) -> Option<i64> {
    setting(path)?.parse().ok()
}

/// Tried on ourselves: what sysctl, capabilities, seccomp and the like come to.
fn perf_events() -> Check {
    let options =
        Options { frequency: 99, on_exec: false, children: false, events: Vec::new(), stack_bytes: 0 };
    let paranoid = number("/proc/sys/kernel/perf_event_paranoid");
    let level = paranoid.map_or_else(|| "not there".to_owned(), |level| level.to_string());
    let allow = "sudo sysctl kernel.perf_event_paranoid=1, or run nodescope with sudo".to_owned();
    let (ok, found, fix) = match Sampler::attach(Scope::Processes(&[std::process::id()]), &options) {
        Ok(sampler) if sampler.sees_kernel() => {
            (true, "user code and the kernel can be sampled".to_owned(), None)
        }
        Ok(_) => {
            let found = format!(
                "your own processes can be sampled, the kernel's part cannot (perf_event_paranoid is {level})"
            );
            (true, found, Some(allow))
        }
        Err(AttachError::Denied(_)) if paranoid.is_some_and(|level| level > 2) => {
            (false, format!("not permitted: kernel.perf_event_paranoid is {level}"), Some(allow))
        }
        Err(AttachError::Denied(error) | AttachError::Failed(error)) => {
            let fix = "in a container: --cap-add PERFMON --security-opt seccomp=unconfined; else sudo";
            (false, format!("not possible: {error} (perf_event_paranoid is {level})"), Some(fix.to_owned()))
        }
        Err(AttachError::Gone(_) | AttachError::Hidden(_)) => {
            (false, "we could not find ourselves in /proc".to_owned(), None)
        }
    };
    Check { what: "perf events", ok, found, why: "nodescope record samples with them.", fix }
}

fn kernel_symbols() -> Check {
    let mut start = [0u8; 16];
    let read = fs::File::open("/proc/kallsyms").and_then(|mut file| file.read_exact(&mut start));
    let is_visible = read.is_ok() && start.iter().any(|byte| byte.is_ascii_hexdigit() && *byte != b'0');
    let restrict = number("/proc/sys/kernel/kptr_restrict").unwrap_or(0);
    let found = match (is_visible, read) {
        (true, _) => "the kernel's functions have names".to_owned(),
        (false, Ok(())) => {
            format!("the kernel hides the addresses of its functions (kptr_restrict is {restrict})")
        }
        (false, Err(error)) => format!("/proc/kallsyms cannot be read: {error}"),
    };
    let fix = (!is_visible).then(|| {
        "run nodescope with sudo; or once: sudo cat /proc/kallsyms >kallsyms, then --kallsyms kallsyms"
            .to_owned()
    });
    Check {
        what: "kernel names",
        ok: is_visible,
        found,
        why: "Without them the kernel is one block in every picture.",
        fix,
    }
}

fn memory_reads() -> Check {
    let scope = number("/proc/sys/kernel/yama/ptrace_scope");
    let found = match scope {
        None | Some(0) => "your own processes may be looked into".to_owned(),
        Some(scope) => format!("Yama's ptrace_scope is {scope}: only children may be looked into"),
    };
    let ok = scope.is_none_or(|scope| scope == 0);
    let fix = (!ok).then(|| "sudo sysctl kernel.yama.ptrace_scope=0, or run nodescope with sudo".to_owned());
    Check {
        what: "other processes",
        ok,
        found,
        why: "Containers' files and processes of the same user are reached through /proc/PID.",
        fix,
    }
}

fn containers() -> Check {
    let sockets: Vec<_> = Places::default().sockets.into_iter().filter(|socket| socket.exists()).collect();
    let Some(socket) = sockets.first() else {
        let found = "no Docker or Podman here".to_owned();
        return Check { what: "container names", ok: true, found, why: "", fix: None };
    };
    let opened = std::os::unix::net::UnixStream::connect(socket);
    let found = match &opened {
        Ok(_) => format!("{} answers", socket.display()),
        Err(error) => format!("{} does not answer: {error}", socket.display()),
    };
    let fix = opened.is_err().then(|| "sudo usermod -aG docker $USER and log in again, or sudo".to_owned());
    Check {
        what: "container names",
        ok: opened.is_ok(),
        found,
        why: "Containers are then known by their ids only.",
        fix,
    }
}

fn processes(list: &[Process]) -> Check {
    let apps = list.iter().filter(|process| !matches!(process.role, Role::Tool { .. })).count() as u64;
    let named = list.iter().filter(|process| process.ways.names.open).count() as u64;
    let count = plural(apps, "Node process").replace("processs", "processes");
    let found =
        format!("{count} here, {} with names for JavaScript; nodescope ps lists them", thousands(named));
    Check { what: "Node", ok: true, found, why: "", fix: None }
}

/// What stands in the way of one process.
fn of_process(process: &Process) -> Vec<Check> {
    let version = process.node_version.as_deref().unwrap_or("of an unknown version");
    let ways = &process.ways;
    let inspector = match &ways.inspector {
        InspectorWay::Open { port } => (true, format!("listens on port {port}")),
        InspectorWay::CanBeOpened => (true, "closed; SIGUSR1 would open it".to_owned()),
        InspectorWay::Closed { why } => (false, why.clone()),
    };
    let sudo = || "run nodescope with sudo".to_owned();
    let flags = || "start it with node --perf-basic-prof --interpreted-frames-native-stack".to_owned();
    let name_it = if process.is_certain { flags() } else { sudo() };
    vec![
        Check {
            what: "process",
            ok: process.is_certain,
            found: format!("{} is Node {version}: {}", process.pid, process.command),
            why: "Its binary cannot be read, so it may be something else.",
            fix: (!process.is_certain).then(sudo),
        },
        Check {
            what: "sampling it",
            ok: ways.perf.open,
            found: ways.perf.why.clone(),
            why: "nodescope record needs it.",
            fix: (!ways.perf.open).then(|| "run nodescope as its user, or with sudo".to_owned()),
        },
        Check {
            what: "JavaScript names",
            ok: ways.names.open,
            found: ways.names.why.clone(),
            why: "Your functions are one block called [JIT] without them.",
            fix: (!ways.names.open).then_some(name_it),
        },
        Check {
            what: "inspector",
            ok: inspector.0,
            found: inspector.1,
            why: "Node's own profiler cannot be reached.",
            fix: None,
        },
    ]
}

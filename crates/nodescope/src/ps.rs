//! `nodescope ps`: the Node processes here, as a table or as JSON. What is known of them comes from `target`.

use std::collections::BTreeMap;
use std::time::Duration;

use target::{InspectorWay, List, Places, Process, Role};

use crate::cli;
use crate::failure::Failure;
use crate::output;
use crate::style::Style;
use crate::table::{Cell, Column, render as render_table};
use crate::text::{fit_start, plural, printable, wrap};

/// Long enough for a figure that means something, short enough to wait for.
const PAUSE: Duration = Duration::from_millis(200);

/// Longer names are cut, so that commands keep their room.
const WIDEST_CONTAINER: usize = 28;
const WIDEST_USER: usize = 12;
const WIDEST_APP: usize = 24;

/// A terminal that has room for folders, where nothing depends on them.
const WIDE: usize = 120;

/// How many ports a row names.
const MOST_PORTS: usize = 3;

/// How many digits of a container's id people know it by.
const SHORT_ID: usize = 12;

/// How many pids a sentence names.
const MOST_PIDS: usize = 8;

/// Where the user may not look.
const NEEDS_ROOT: &str = "(needs root)";

/// Runs the command.
pub(crate) fn run(arguments: &cli::Ps) -> Result<(), Failure> {
    let list = target::list(&Places::default(), PAUSE)
        .map_err(|error| Failure::failed(format!("cannot read /proc: {error}")))?;
    if arguments.json {
        let mut text = serde_json::to_string_pretty(&list.processes)
            .map_err(|error| Failure::failed(error.to_string()))?;
        text.push('\n');
        return output::print(&text);
    }
    output::print(&render(&list, &Style::new(arguments.color)))
}

fn render(list: &List, style: &Style) -> String {
    let mut text = String::new();
    if list.processes.is_empty() {
        text.push_str("No Node process is running here.\n");
    } else {
        let (columns, rows) = table(&list.processes, style.width);
        text.push_str(&render_table(&columns, &rows, style));
    }
    let mut notes = reasons(&list.processes);
    if list.hidden > 0 {
        let count = plural(list.hidden as u64, "process").replace("processs", "processes");
        notes.push(format!("{count} could not be looked at: that needs root with CAP_SYS_PTRACE."));
    }
    if !notes.is_empty() && !list.processes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let lines = wrap(&printable(&note), style.width);
        for line in lines.lines() {
            text.push_str(&style.dim(line));
            text.push('\n');
        }
    }
    text
}

/// The columns; empty ones are left out. Where the terminal is narrow, the user goes first, then ports and threads.
const COLUMNS: [Column; 12] = [
    Column::Figure("pid"),
    Column::Name("app"),
    Column::Figure("cpu"),
    Column::Word("node"),
    Column::Word("container"),
    Column::Word("ways in"),
    Column::Figure("up"),
    Column::Word("threads"),
    Column::Word("ports"),
    Column::Word("user"),
    Column::Name("command"),
    Column::Path("folder"),
];

fn table(processes: &[Process], width: usize) -> (Vec<Column>, Vec<Vec<Cell>>) {
    let rows: Vec<[String; COLUMNS.len()]> = processes.iter().map(texts).collect();
    let is_folder_shown = width >= WIDE || has_alike(processes);
    let is_shown = |at: usize| {
        (is_folder_shown || COLUMNS[at] != Column::Path("folder"))
            && rows.iter().any(|row| !row[at].is_empty())
    };
    let shown: Vec<usize> = (0..COLUMNS.len()).filter(|at| is_shown(*at)).collect();
    let cells = |(process, row): (&Process, &[String; COLUMNS.len()])| {
        let is_tool = matches!(process.role, Role::Tool { .. });
        shown
            .iter()
            .map(|at| if is_tool { Cell::dim(&row[*at]) } else { Cell::new(&row[*at]) })
            .collect()
    };
    let columns = shown.iter().map(|at| COLUMNS[*at]).collect();
    (columns, processes.iter().zip(&rows).map(cells).collect())
}

/// Whether only their folders distinguish two processes.
fn has_alike(processes: &[Process]) -> bool {
    let is_alike = |one: &Process, other: &Process| {
        (&one.app, &one.command, &one.container) == (&other.app, &other.command, &other.container)
            && one.folder != other.folder
    };
    processes
        .iter()
        .enumerate()
        .any(|(at, one)| processes[at + 1..].iter().any(|other| is_alike(one, other)))
}

/// The cells of a row, in the order of the columns.
fn texts(process: &Process) -> [String; COLUMNS.len()] {
    let unknown = if process.is_certain { "?" } else { NEEDS_ROOT };
    [
        process.pid.to_string(),
        fit_start(&printable(process.app.as_deref().unwrap_or_default()), WIDEST_APP),
        format!("{:.2}", process.cpu_cores),
        process.node_version.clone().unwrap_or_else(|| unknown.to_owned()),
        fit_start(&printable(&container(process)), WIDEST_CONTAINER),
        ways(process),
        age(process.uptime_s),
        process.threads.to_string(),
        ports(process),
        fit_start(&printable(&user(process)), WIDEST_USER),
        command(process),
        process.folder.clone().unwrap_or_default(),
    ]
}

/// `3000, 3001, …`.
fn ports(process: &Process) -> String {
    let mut ports: Vec<String> =
        process.ports.iter().take(MOST_PORTS).map(u16::to_string).collect();
    if process.ports.len() > MOST_PORTS {
        ports.push("…".into());
    }
    ports.join(", ")
}

fn user(process: &Process) -> String {
    process.user.clone().unwrap_or_else(|| process.uid.to_string())
}

/// The pod or the name, else the short id; behind it the pid that the process knows itself by. Empty on the host.
fn container(process: &Process) -> String {
    let name = process.container.as_ref().map(|container| {
        let short_id: String = container.id.chars().take(SHORT_ID).collect();
        container.pod.clone().or_else(|| container.name.clone()).unwrap_or(short_id)
    });
    let inner = (process.inner_pid != process.pid).then(|| format!("(pid {})", process.inner_pid));
    name.into_iter().chain(inner).collect::<Vec<String>>().join(" ")
}

/// `perf+names, port 9229`.
fn ways(process: &Process) -> String {
    let ways = &process.ways;
    let perf = match (ways.perf.open, ways.names.open) {
        (true, true) => Some("perf+names".to_owned()),
        (true, false) => Some("perf".to_owned()),
        (false, _) => None,
    };
    let inspector = match &ways.inspector {
        InspectorWay::Open { port } => Some(format!("port {port}")),
        InspectorWay::CanBeOpened => Some("inspector".to_owned()),
        InspectorWay::Closed { .. } => None,
    };
    let open: Vec<String> = perf.into_iter().chain(inspector).collect();
    if open.is_empty() { "none".to_owned() } else { open.join(", ") }
}

/// `[worker 2] node server.js`, with the flags that NODE_OPTIONS brings behind it.
fn command(process: &Process) -> String {
    let mut marks = match &process.role {
        Role::App => Vec::new(),
        Role::Primary => vec!["primary".to_owned()],
        Role::Worker { number: Some(number) } => vec![format!("worker {number}")],
        Role::Worker { number: None } => vec!["worker".to_owned()],
        Role::Tool { name } => vec![(*name).to_owned()],
    };
    marks.extend(process.pm2_id.as_ref().map(|id| format!("pm2 {id}").trim_end().to_owned()));
    let mut text = process.short_command();
    if !marks.is_empty() {
        text = format!("[{}] {text}", marks.join(", "));
    }
    let is_typed = |flag: &str| {
        process.command.split(' ').any(|word| flag.split('=').next() == word.split('=').next())
    };
    for flag in process.flags.iter().filter(|flag| !is_typed(flag)) {
        text = format!("{text} +{flag}");
    }
    text
}

/// Why ways are closed: a sentence a reason, with the processes that it is about.
fn reasons(processes: &[Process]) -> Vec<String> {
    let mut closed: BTreeMap<(u8, &str, &str), Vec<u32>> = BTreeMap::new();
    for process in processes.iter().filter(|process| !matches!(process.role, Role::Tool { .. })) {
        let ways = &process.ways;
        let mut add =
            |order, way, why| closed.entry((order, way, why)).or_default().push(process.pid);
        if !ways.perf.open {
            add(0, "No perf", ways.perf.why.as_str());
        } else if !ways.names.open {
            add(1, "No names", ways.names.why.as_str());
        }
        if let InspectorWay::Closed { why } = &ways.inspector {
            add(2, "No inspector", why);
        }
    }
    let sentence = |((_, way, why), pids): (&(u8, &str, &str), &Vec<u32>)| {
        let named: Vec<String> = pids.iter().take(MOST_PIDS).map(u32::to_string).collect();
        let more = pids.len().saturating_sub(MOST_PIDS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{way} for {}{more}: {why}.", named.join(", "))
    };
    closed.iter().map(sentence).collect()
}

/// `45s`, `12m`, `3h`, `5d`: the largest unit of which there is more than one.
pub(crate) fn age(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0}s"),
        seconds if seconds < 7200.0 => format!("{:.0}m", (seconds / 60.0).floor()),
        seconds if seconds < 172_800.0 => format!("{:.0}h", (seconds / 3600.0).floor()),
        seconds => format!("{:.0}d", (seconds / 86_400.0).floor()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_processes_there_is_a_sentence() {
        let style = Style::new(cli::Color::Never);
        assert_eq!(render(&List::default(), &style), "No Node process is running here.\n");
        let hidden = List { hidden: 2, ..List::default() };
        assert!(render(&hidden, &style).contains("\n2 processes could not be looked at"));
    }

    #[test]
    fn ages_are_short() {
        let ages = [0.4, 119.0, 120.0, 7199.0, 7200.0, 200_000.0].map(age);
        assert_eq!(ages, ["0s", "119s", "2m", "119m", "2h", "2d"]);
    }
}

//! `nodescope record`: samples a running process, or a command that it starts, and keeps what it saw whatever
//! happens: while it records, everything goes to OUT.part, which `report` opens, too.

pub(crate) mod choose;
mod follow;
mod target;

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use capture::{Options, Sampler};
use profile::Profile;
use symbols::{ForProcess, Namer, Sources};

use crate::cli;
use crate::export::Form;
use crate::failure::{Failure, warn};
use crate::text::{duration, percent, plural, thousands, utc};
use crate::{advice, export, invoked, output, report, select};
use follow::Follower;
use target::Target;

pub(crate) use target::stand_in;

/// How often the rings are looked at: at 10,000 samples a second a small ring of a deep stack lasts longer.
const ROUND: Duration = Duration::from_millis(50);
/// Fewer samples than this say little.
const FEW_SAMPLES: u64 = 100;

/// Runs the command.
pub(crate) fn run(arguments: &cli::Record) -> Result<(), Failure> {
    run_and_show(arguments, report::print_head, say_next)
}

/// The same for another command, which shows more of the report, or says something else at the end.
pub(crate) fn run_and_show(
    arguments: &cli::Record,
    show: fn(&Profile) -> Result<(), Failure>,
    say_next: fn(Form, &Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let limit = limit(arguments)?;
    let mut target = Target::find(arguments)?;
    let out = arguments.output.clone().unwrap_or_else(|| default_name(&target));
    // A stream is for `nodescope report -` on the other side.
    let form = if out == Path::new("-") { Form::Nodescope } else { form_of(&out)? };
    let (frequency, children) = (arguments.frequency, !arguments.no_children);
    let options = Options { frequency, on_exec: target.is_command(), children };
    let mut sampler = Sampler::attach(target.pids(), options)
        .map_err(|error| advice::explain(&error, &target.subject()))?;
    let mut spool = Spool::create(&out)?;
    spool.write(&sampler.head())?;
    sys::signals::catch_end().map_err(|error| Failure::failed(error.to_string()))?;
    say_start(&sampler, &target, arguments.frequency, limit);
    if !target.is_command() {
        sampler.enable().map_err(|error| Failure::failed(format!("cannot start sampling: {error}")))?;
    }
    // Before it ends: afterwards nobody knows where its files were.
    let mut sources = Sources { root: target.root(), inner_pids: target.inner_pids(), ..Sources::default() };
    let mut maps = Maps::new(&sources);
    let mut kernel = KernelTime::new(&sampler, &target);
    target.let_go()?;
    let recorded = sample(&mut sampler, &mut target, (&mut maps, &mut kernel), limit, &mut spool);
    sources.jitdumps = maps.finish();
    let profile = import(&spool, sources, &target, kernel.hidden_ns())?;
    export::write_whole(&profile, form, &out)?;
    spool.remove();
    recorded?;
    say_few(&profile, frequency);
    if out != Path::new("-") {
        show(&profile)?;
        say_written(&profile, &out);
        say_next(form, &out)?;
    }
    target.status()
}

fn limit(arguments: &cli::Record) -> Result<Option<Duration>, Failure> {
    let Some(text) = &arguments.duration else {
        return Ok(arguments.command.is_empty().then_some(Duration::from_secs(30)));
    };
    select::parse_duration(text).map(Some)
}

/// `nodescope-server-4140-20261115-031502.nodescope`, here.
fn default_name(target: &Target) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-' || *letter == '_';
    let name: String = target.name().chars().filter(is_plain).take(30).collect();
    let pid = target.pids().first().copied().unwrap_or(0);
    PathBuf::from(format!("nodescope-{name}-{pid}-{}.nodescope", utc(seconds)))
}

fn form_of(out: &Path) -> Result<Form, Failure> {
    let endings = "end it with .nodescope, .svg, .folded, .cpuprofile, .speedscope.json, .pb.gz, .firefox.json.gz or .json";
    export::form_of(out).map_err(|failure| failure.hint(endings))
}

/// What was recorded so far, on disk.
struct Spool {
    path: PathBuf,
    file: File,
}

impl Spool {
    /// Beside OUT, so that a full disk is noticed there.
    fn create(out: &Path) -> Result<Self, Failure> {
        let path = if out == Path::new("-") {
            std::env::temp_dir().join(format!("nodescope-{}.part", std::process::id()))
        } else {
            let mut name = out.as_os_str().to_owned();
            name.push(".part");
            PathBuf::from(name)
        };
        // An older one is of a recording that was cut off: it is somebody's.
        let file = output::create(&path).map_err(|error| {
            Failure::writing(&path.display().to_string(), &error)
                .hint("choose another OUT, or move the old file away")
        })?;
        Ok(Self { path, file })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file
            .write_all(bytes)
            .map_err(|error| Failure::writing(&self.path.display().to_string(), &error).hint(self.hint()))
    }

    fn hint(&self) -> String {
        format!("what was recorded before is there: nodescope report {}", self.path.display())
    }

    fn remove(&self) {
        // It is of no use any more; that it cannot be removed is no news.
        let _ = fs::remove_file(&self.path);
    }
}

/// Samples until the time is over, the target has ended or somebody pressed Ctrl-C.
fn sample(
    sampler: &mut Sampler,
    target: &mut Target,
    (maps, kernel): (&mut Maps, &mut KernelTime),
    limit: Option<Duration>,
    spool: &mut Spool,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut progress = Progress::new(limit);
    let mut bytes = Vec::new();
    loop {
        let is_over = limit.is_some_and(|limit| start.elapsed() >= limit) || sys::signals::ended();
        let is_last = is_over || target.has_ended();
        if is_last {
            sampler.disable();
        }
        maps.look(target, is_last);
        kernel.look(target);
        bytes.clear();
        sampler.read(&mut bytes);
        spool.write(&bytes)?;
        progress.show(start.elapsed(), sampler.samples());
        if is_last {
            progress.clear();
            return Ok(());
        }
        let left = limit.map_or(ROUND, |limit| limit.saturating_sub(start.elapsed()).min(ROUND));
        sampler
            .wait(left.max(Duration::from_millis(1)))
            .map_err(|error| Failure::failed(error.to_string()))?;
    }
}

/// The time in the kernel that this user may not sample: perf itself hides it without a word.
struct KernelTime {
    is_hidden: bool,
    start_ns: u64,
    last_ns: u64,
}

impl KernelTime {
    fn new(sampler: &Sampler, target: &Target) -> Self {
        let start_ns = target.kernel_ns();
        Self { is_hidden: !sampler.sees_kernel(), start_ns, last_ns: start_ns }
    }

    /// A process that has ended tells nothing any more: what it said last counts.
    fn look(&mut self, target: &Target) {
        if self.is_hidden {
            self.last_ns = self.last_ns.max(target.kernel_ns());
        }
    }

    fn hidden_ns(&self) -> u64 {
        self.last_ns - self.start_ns
    }
}

/// The perf maps of all processes, those that are started meanwhile among them.
struct Maps {
    followers: Vec<Follower>,
    root: Option<PathBuf>,
    scanned: Option<Instant>,
}

/// How often new processes are looked for.
const SCAN: Duration = Duration::from_secs(1);

impl Maps {
    fn new(sources: &Sources) -> Self {
        Self { followers: Vec::new(), root: sources.root.clone(), scanned: None }
    }

    fn look(&mut self, target: &mut Target, is_last: bool) {
        if is_last || self.scanned.is_none_or(|scanned| scanned.elapsed() >= SCAN) {
            self.scanned = Some(Instant::now());
            for (pid, inner_pid) in target.all_pids() {
                if self.followers.iter().all(|follower| follower.pid() != pid) {
                    self.followers.push(Follower::new(pid, inner_pid, self.root.clone()));
                }
            }
        }
        let now_ns = sys::clock::monotonic_ns();
        self.followers.iter_mut().for_each(|follower| follower.look(now_ns));
    }

    fn finish(&mut self) -> Vec<ForProcess> {
        self.followers.iter_mut().filter_map(Follower::finish).collect()
    }
}

/// A line that tells how far it is, on a terminal.
struct Progress {
    limit: Option<Duration>,
    shown: Option<u64>,
    is_terminal: bool,
}

impl Progress {
    fn new(limit: Option<Duration>) -> Self {
        Self { limit, shown: None, is_terminal: io::stderr().is_terminal() }
    }

    fn show(&mut self, elapsed: Duration, samples: u64) {
        let seconds = elapsed.as_secs();
        if !self.is_terminal || self.shown == Some(seconds) {
            return;
        }
        self.shown = Some(seconds);
        let of =
            self.limit.map(|limit| format!(" of {}", duration(limit.as_nanos() as u64))).unwrap_or_default();
        let _ = write!(
            io::stderr().lock(),
            "\r\u{1b}[K{seconds} s{of} · {} · Ctrl-C ends and keeps them",
            plural(samples, "sample")
        );
    }

    fn clear(&self) {
        if self.is_terminal {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

/// Names what was recorded.
fn import(
    spool: &Spool,
    sources: Sources,
    target: &Target,
    hidden_kernel_ns: u64,
) -> Result<Profile, Failure> {
    let file =
        File::open(&spool.path).map_err(|error| Failure::failed(error.to_string()).hint(spool.hint()))?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let mut namer = Namer::new(sources, "recorded by perf events");
    formats::perf_data::read(file, threads, &mut namer);
    namer.set_hidden_kernel_ns(hidden_kernel_ns);
    let profile = namer.finish();
    if profile.lanes().iter().all(|lane| lane.samples.is_empty()) {
        spool.remove();
        return Err(Failure::failed(format!(
            "{} used no CPU meanwhile: there is nothing to show",
            target.name()
        ))
        .hint("put load on it, or wait longer: -d 2m"));
    }
    Ok(profile)
}

fn say_start(sampler: &Sampler, target: &Target, frequency: u32, limit: Option<Duration>) {
    let time = limit.map_or_else(
        || "until it ends".to_owned(),
        |limit| format!("for {}", duration(limit.as_nanos() as u64)),
    );
    let kernel = if sampler.sees_kernel() { "" } else { ", without the kernel's time: you are not root" };
    warn(&format!(
        "recording {} {time}, {frequency} times a second, by perf events{kernel}",
        target.describe()
    ));
}

fn say_few(profile: &Profile, frequency: u32) {
    let samples: u64 = profile.lanes().first().map_or(0, |lane| lane.samples.len() as u64);
    if samples < FEW_SAMPLES {
        let seconds = (profile.duration_ns() as f64 / 1e9).max(0.001);
        let cores = samples as f64 / f64::from(frequency) / seconds;
        warn(&format!(
            "only {}: it used {} of a core in {}. Record it longer (-d 2m), under load, or more often (-F 999)",
            plural(samples, "sample"),
            percent(cores.min(1.0)),
            duration(profile.duration_ns())
        ));
    }
}

fn say_written(profile: &Profile, out: &Path) {
    let samples: u64 = profile.lanes().first().map_or(0, |lane| lane.samples.len() as u64);
    warn(&format!("wrote {} ({})", out.display(), plural(samples, "sample")));
    let lost = profile.meta().losses.lost;
    if lost > 0 {
        warn(&format!("{} samples were lost: try a lower rate, -F 49", thousands(lost)));
    }
}

fn say_next(form: Form, out: &Path) -> Result<(), Failure> {
    let (program, out) = (invoked::name(), invoked::quoted(out));
    match form {
        Form::Nodescope => {
            warn(&format!("next: {program} report {out}, or {program} export {out} -o flame.svg"));
        }
        Form::Svg => warn("open it in a browser"),
        _ => {}
    }
    Ok(())
}

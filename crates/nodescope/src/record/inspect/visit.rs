//! One visit to a process: through an open inspector, or one that is opened for it and closed again, whatever happens.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inspector::{Address, Client, Ending, Error, Options, Recorder};
use target::{Opening, Refusal};

use super::closing::OpenDoor;
use super::collect::{Collector, Whom, short_title};
use super::process::Process;
use super::say;
use crate::cli;
use crate::failure::Failure;

/// How long a port may take to open: a busy loop needs more than a second.
const OPENING: Duration = Duration::from_secs(5);
/// How long a process may take to answer in the beginning and in the end.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same for one that wants to exit: it must not be kept.
const HURRY: Duration = Duration::from_millis(150);
/// How often it is asked whether the time is over.
const ROUND: Duration = Duration::from_millis(50);

/// Where a target is.
pub(super) enum Place {
    Process(Process),
    Address(Address),
}

/// One visit.
pub(super) struct Visit<'a> {
    pub(super) place: &'a Place,
    pub(super) arguments: &'a cli::Record,
    pub(super) stay: Option<Duration>,
    pub(super) is_only: bool,
}

/// Where the files of each process are, if not where ours are.
pub(super) fn roots(places: &[Place]) -> BTreeMap<u32, PathBuf> {
    let root = |place: &Place| match place {
        Place::Process(process) => Some((process.pid, process.root.clone()?)),
        Place::Address(_) => None,
    };
    places.iter().filter_map(root).collect()
}

impl Visit<'_> {
    /// Records for as long as it was wanted. Says whether the process can be visited again.
    pub(super) fn run(&self, collector: &mut Collector) -> Result<bool, Failure> {
        match self.place {
            Place::Address(address) => self.record(&|| connect(address), None, collector),
            Place::Process(process) => {
                let door = self.open(process).map_err(|refusal| explain(&refusal))?;
                self.record(&|| door.connect(), Some(&door), collector)
            }
        }
    }

    fn open(&self, process: &Process) -> Result<OpenDoor, Refusal> {
        let opening = Opening { within: OPENING, has_no_listener: self.arguments.way.no_sigusr1_listener };
        OpenDoor::of(process.pid, &opening, || say::opening(process.pid, self.stay))
    }

    fn record(
        &self,
        connect: &dyn Fn() -> Result<TcpStream, Error>,
        door: Option<&OpenDoor>,
        collector: &mut Collector,
    ) -> Result<bool, Failure> {
        let process = match self.place {
            Place::Process(process) => Some(process),
            Place::Address(_) => None,
        };
        let options = Options {
            interval: Duration::from_nanos(1_000_000_000 / u64::from(self.arguments.frequency)),
            calls: self.arguments.way.calls,
            guarded: door.is_some_and(OpenDoor::is_ours),
            patience: PATIENCE,
        };
        let explained = |error: Error| explain_error(&error, self.place);
        let path = self.path(connect).map_err(explained)?;
        let stream = connect().map_err(explained)?;
        let client = Client::connect(stream, &path, PATIENCE).map_err(explained)?;
        let pid = process.map(|process| process.inner_pid);
        let mut recorder = Recorder::meet(client, pid, options).map_err(explained)?;
        if let Some(door) = door {
            door.hand_over();
        }
        let identity = recorder.identity().clone();
        if identity.profiles_itself && !self.arguments.way.force {
            let _ = recorder.leave();
            return Err(Failure::failed(format!(
                "process {} profiles itself (--cpu-prof, or NODE_V8_COVERAGE): Node would write all that we ask for into its log",
                process.map_or(identity.pid, |process| process.pid)
            ))
            .hint("--via perf, or --force"));
        }
        collector.meet(&identity, process);
        let whom = Whom::new(&identity, process);
        say::long_start(identity.heap_bytes);
        let described = format!(
            "{} (pid {})",
            short_title(&identity),
            process.map_or(identity.pid, |process| process.pid)
        );
        say::start(&described, self.arguments.frequency, self.stay, self.arguments.way.calls);
        let root = process.and_then(|process| process.root.clone());
        let begun = recorder.start();
        let ended = begun.and_then(|()| self.stay(&mut recorder, collector, &whom, root.as_deref()));
        collector.take(recorder.take(), &whom, root.as_deref())?;
        let goes_on = self.note_end(ended, recorder.ending(), &described, collector)?;
        // Whether it is closed is looked at from outside; a process that does not answer is no failure here.
        let _ = recorder.leave();
        Ok(goes_on)
    }

    /// Stays until the time is over, somebody pressed Ctrl-C, or the process wants to go.
    fn stay(
        &self,
        recorder: &mut Recorder<TcpStream>,
        collector: &mut Collector,
        whom: &Whom,
        root: Option<&Path>,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let left = || self.stay.map_or(ROUND, |stay| stay.saturating_sub(start.elapsed()).min(ROUND));
        let is_over = |collector: &Collector| sys::signals::ended() || collector.is_full();
        while recorder.ending() == Ending::NotYet && !is_over(collector) && !left().is_zero() {
            recorder.work(left())?;
            collector.take(recorder.take(), whom, root).map_err(|failure| match failure {
                Failure::Said { what, .. } => Error::Io(std::io::Error::other(what)),
                Failure::BrokenPipe | Failure::Ended(_) => Error::Closed,
            })?;
            for worker in collector.take_outdated() {
                recorder.list_functions_again(worker)?;
            }
        }
        recorder.finish(if recorder.ending() == Ending::Exiting { HURRY } else { PATIENCE })
    }

    /// What is said of how it ended; whether the process can be visited again.
    fn note_end(
        &self,
        ended: Result<(), Error>,
        ending: Ending,
        described: &str,
        collector: &mut Collector,
    ) -> Result<bool, Failure> {
        match (ended, ending) {
            (Ok(()), Ending::NotYet) => Ok(true),
            (_, Ending::Exiting | Ending::Gone) if !collector.is_empty() => {
                if self.is_only {
                    crate::failure::warn(&format!("{described} has ended, or its inspector was closed"));
                } else {
                    collector.note(format!("{described} ended while it was recorded"));
                }
                Ok(false)
            }
            (Ok(()), _) => Ok(false),
            (Err(error), _) if collector.is_empty() => Err(explain_error(&error, self.place)),
            (Err(error), _) => {
                collector.note(error.to_string());
                Ok(false)
            }
        }
    }

    /// The path of the target behind a port.
    fn path(&self, connect: &dyn Fn() -> Result<TcpStream, Error>) -> Result<String, Error> {
        if let Place::Address(Address { path: Some(path), .. }) = self.place {
            return Ok(path.clone());
        }
        let listed = inspector::list(&mut connect()?, PATIENCE)?;
        let first = listed.first().ok_or_else(|| Error::NotInspector("it offers nothing".into()))?;
        Ok(format!("/{}", first.id))
    }
}

/// The first of a name's addresses that answers. Somebody who drops what he gets must not keep us for minutes.
fn connect(address: &Address) -> Result<TcpStream, Error> {
    let mut failure = std::io::Error::other("the name has no address");
    for place in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure.into())
}

fn explain(refusal: &Refusal) -> Failure {
    let failure = Failure::failed(refusal.to_string());
    match (refusal, refusal.hint()) {
        (Refusal::Unseen { .. }, Some(hint)) => failure.hint(format!("--no-sigusr1-listener; {hint}")),
        (_, Some(hint)) => failure.hint(hint),
        (_, None) => failure,
    }
}

fn explain_error(error: &Error, place: &Place) -> Failure {
    match place {
        Place::Process(process) => {
            let failure = Failure::failed(error.to_string());
            match error {
                Error::NoAnswer(_) => failure.hint(format!(
                    "if it is stopped: kill -CONT {}; if it computes, perf events see it: --via perf",
                    process.pid
                )),
                _ => failure,
            }
        }
        Place::Address(address) => {
            let failure = Failure::failed(format!("{address}: {error}"));
            match error {
                Error::NoAnswer(_) => failure.hint("is it stopped, or at a breakpoint?"),
                Error::NotInspector(_) | Error::Io(_) => {
                    failure.hint("node --inspect prints its address: --connect HOST:PORT")
                }
                _ => failure,
            }
        }
    }
}

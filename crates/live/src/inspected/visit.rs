//! One visit to a target: through an inspector that is open, or one that is opened for the visit and closed again,
//! whatever happens.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use inspector::{Address, Client, Ending, Recorder};
use target::Opening;

use super::closing::OpenInspector;
use super::collect::Collector;
use super::process::{Place, TargetProcess};
use super::{Error, News, Options, Start, cost};

/// How long a port may take to open: a busy loop needs more than a second.
const OPENING: Duration = Duration::from_secs(5);
/// How long a process may take to answer in the beginning and in the end.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same for one that wants to exit: it must not be kept.
const HURRY: Duration = Duration::from_millis(150);
/// How often it is asked whether the time is over.
const ROUND: Duration = Duration::from_millis(50);

/// What makes a connection to the target.
type Connect<'a> = dyn Fn() -> Result<TcpStream, inspector::Error> + 'a;

/// One visit.
pub(super) struct Visit<'a> {
    pub(super) place: &'a Place,
    pub(super) options: &'a Options,
    /// `None` means until the end.
    pub(super) stay: Option<Duration>,
    pub(super) is_only: bool,
}

impl Visit<'_> {
    /// Records for as long as it was wanted. Returns whether the target can be visited again.
    pub(super) fn run(&self, collector: &mut Collector<'_>) -> Result<bool, Error> {
        let process = match self.place {
            Place::Address(address) => return self.record(&|| connect(address), None, collector),
            Place::Process(process) => process,
        };
        let opening = Opening { within: OPENING, has_no_listener: self.options.has_no_listener };
        let opened = OpenInspector::of(process.pid, &opening, self.stay, collector.recipient());
        let mut opened = opened.map_err(Error::Refused)?;
        let recorded = self.record(&|| opened.connect(), Some(&opened), collector);
        let another =
            |error: &inspector::Error| matches!(error, inspector::Error::AnotherProcess { .. });
        if matches!(&recorded, Err(Error::Process { error, .. }) if another(error)) {
            opened.disown();
        }
        if let Some(port) = opened.leave() {
            collector.report(News::StillOpen { pid: process.pid, port });
        }
        recorded
    }

    fn record(
        &self,
        connect: &Connect<'_>,
        opened: Option<&OpenInspector>,
        collector: &mut Collector<'_>,
    ) -> Result<bool, Error> {
        let is_ours = opened.is_some_and(OpenInspector::is_ours);
        let mut recorder = self.meet(connect, is_ours).map_err(|error| self.explain(error))?;
        opened.into_iter().for_each(OpenInspector::hand_over);
        let process = TargetProcess::new(recorder.identity(), self.place.process());
        if process.identity().profiles_itself && !self.options.profiled_too {
            let _ = recorder.leave();
            return Err(Error::ProfilesItself { pid: process.pid() });
        }
        collector.meet(&process);
        let heap_bytes = process.identity().heap_bytes;
        collector.report(News::Starting(Start {
            name: process.name(),
            pid: process.pid(),
            time: self.stay,
            heap_bytes,
            stop_ms: cost::start_ms(heap_bytes),
        }));
        let begun = recorder.start().map_err(|error| self.explain(error));
        let ended = begun.and_then(|()| self.stay(&mut recorder, collector, &process));
        collector.take(recorder.take(), &process)?;
        let goes_on = self.note_end(ended, recorder.ending(), &process, collector)?;
        // Whether it is closed is looked at from outside; a process that does not answer is no failure here.
        let _ = recorder.leave();
        Ok(goes_on)
    }

    /// Connects to the target, and makes sure that it is the one that was meant.
    fn meet(
        &self,
        connect: &Connect<'_>,
        is_ours: bool,
    ) -> Result<Recorder<TcpStream>, inspector::Error> {
        let options = inspector::Options {
            interval: self.options.interval,
            calls: self.options.calls,
            guarded: is_ours,
            patience: PATIENCE,
        };
        let path = self.path(connect)?;
        let client = Client::connect(connect()?, &path, PATIENCE)?;
        Recorder::meet(client, self.place.process().map(|process| process.inner_pid), options)
    }

    /// Stays until the time is over, the recipient wants an end, or the process wants to exit.
    fn stay(
        &self,
        recorder: &mut Recorder<TcpStream>,
        collector: &mut Collector<'_>,
        process: &TargetProcess,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let left =
            || self.stay.map_or(ROUND, |stay| stay.saturating_sub(start.elapsed()).min(ROUND));
        let explained = |error| self.explain(error);
        while recorder.ending() == Ending::NotYet && !collector.wants_end() && !left().is_zero() {
            recorder.work(left()).map_err(explained)?;
            collector.take(recorder.take(), process)?;
            for worker in collector.take_outdated() {
                recorder.list_functions_again(worker).map_err(explained)?;
            }
        }
        let patience = if recorder.ending() == Ending::Exiting { HURRY } else { PATIENCE };
        recorder.finish(patience).map_err(explained)
    }

    /// Notes how it ended. Returns whether the target can be visited again.
    fn note_end(
        &self,
        ended: Result<(), Error>,
        ending: Ending,
        process: &TargetProcess,
        collector: &mut Collector<'_>,
    ) -> Result<bool, Error> {
        let (name, pid) = (process.name(), process.pid());
        match (ended, ending) {
            (Ok(()), Ending::NotYet) => return Ok(true),
            (_, Ending::Exiting | Ending::Gone) if !collector.is_empty() => match self.is_only {
                true => collector.report(News::Ended { name, pid }),
                false => collector.note(format!("{name} (pid {pid}) ended while it was recorded")),
            },
            (Ok(()), _) => {}
            (Err(error), _) if collector.is_empty() => return Err(error),
            (Err(Error::Process { error, .. } | Error::Address { error, .. }), _) => {
                collector.note(error.to_string());
            }
            (Err(error), _) => return Err(error),
        }
        Ok(false)
    }

    /// The path of the target behind a port.
    fn path(&self, connect: &Connect<'_>) -> Result<String, inspector::Error> {
        if let Place::Address(Address { path: Some(path), .. }) = self.place {
            return Ok(path.clone());
        }
        let listed = inspector::list(&mut connect()?, PATIENCE)?;
        let nothing = || inspector::Error::NotInspector("its inspector lists no target".into());
        Ok(format!("/{}", listed.first().ok_or_else(nothing)?.id))
    }

    fn explain(&self, error: inspector::Error) -> Error {
        match self.place {
            Place::Process(process) => Error::Process { pid: process.pid, error },
            Place::Address(address) => Error::Address { address: address.clone(), error },
        }
    }
}

/// The first of a name's addresses that answers. One that drops what it gets must not keep us for minutes.
fn connect(address: &Address) -> Result<TcpStream, inspector::Error> {
    let mut failure = std::io::Error::other("the name has no address");
    for place in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure.into())
}

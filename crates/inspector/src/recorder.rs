//! Records a target: window after window on every thread that runs JavaScript, those that start later, too. Windows
//! overlap: the next one begins before the last one ends, so V8's profiler never starts anew, which would stop the
//! target for as long as it takes to look at all of its code.

mod incoming;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use http::Stream;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers::{Remote, remote_in};
use crate::client::Client;
use crate::error::Error;
use crate::message::Session;
use crate::pace::Pace;
use crate::script;
use crate::threads::{Moment, Piece, ThreadInfo};

/// The inspector is closed after this time without us: 15 s are promised.
const GUARD: Duration = Duration::from_secs(14);
/// How often we renew the time until the inspector closes.
const RENEWAL: Duration = Duration::from_secs(4);

/// How a target is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The time between two samples.
    pub interval: Duration,
    /// Whether calls are counted.
    pub calls: bool,
    /// Whether the inspector was opened for us, and closes by itself when we are killed.
    pub guarded: bool,
    /// How long an answer is waited for in the beginning and in the end.
    pub patience: Duration,
}

/// Who a target is, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// Its pid inside its own namespace.
    pub pid: u32,
    /// `v22.1.0`.
    pub node: String,
    /// `12.4.254.14-node.11`.
    pub v8: String,
    /// What it calls itself.
    pub title: String,
    /// Its monotonic clock, in microseconds.
    pub clock_us: f64,
    /// How much is in its heap: V8 looks through all of it for code when profiling begins.
    pub heap_bytes: f64,
    /// Whether Node profiles it already: --cpu-prof, or NODE_V8_COVERAGE.
    pub profiles_itself: bool,
}

/// How a recording stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It goes on.
    NotYet,
    /// The target wants to exit, and waits for us.
    Exiting,
    /// The target has ended, or its inspector was closed.
    Gone,
}

/// A recording.
pub struct Recorder<S> {
    client: Client<S>,
    options: Options,
    identity: Identity,
    /// The start of all titles of our windows: another client's windows are reported to us, too.
    title: String,
    threads: BTreeMap<Session, Thread>,
    /// What the answer to a call is for.
    purposes: HashMap<u64, Purpose>,
    guard: Option<String>,
    renewed: Instant,
    pieces: Vec<Piece>,
    ending: Ending,
}

struct Thread {
    info: ThreadInfo,
    state: State,
    pace: Pace,
    /// The number of the window that runs. A worker's first one is begun and ended by calls of the protocol: it may
    /// still set itself up, and code that is run in the middle of that has crashed it.
    window: u32,
    /// Whether no other window follows.
    is_last: bool,
    /// When its profiler was set up.
    is_set: Instant,
    /// When its functions were listed last, and the target's clocks before that.
    listed: Option<Instant>,
    clocks: String,
}

impl Thread {
    fn is_plain(&self) -> bool {
        self.window == 0 && self.info.worker.is_some()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first window is about to begin.
    Starting,
    /// A window runs, since then.
    Running(Instant),
    /// The next one is about to begin.
    Turning,
    /// The last one is about to end.
    Ending,
    /// Nothing is to come any more.
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Nothing,
    Interval,
    Start,
    Turn(Moment),
    Stop,
    End,
    Clocks,
    Functions,
    Listed,
    Calls,
    Renewal,
}

impl<S: Stream> Recorder<S> {
    /// Gets to know a target, and makes sure that it is the one that was meant, by its own idea of its pid.
    pub fn meet(mut client: Client<S>, pid: Option<u32>, options: Options) -> Result<Self, Error> {
        let guard = options.guarded.then(|| plant(&mut client, options.patience)).transpose()?;
        let found = evaluate(&mut client, &script::identity(), true, options.patience)?;
        let text = found.value.as_ref().and_then(Value::as_str).unwrap_or_default();
        let identity: Identity = serde_json::from_str(text).map_err(Error::malformed)?;
        if let Some(wanted) = pid.filter(|pid| *pid != identity.pid) {
            return Err(Error::AnotherProcess { wanted, found: identity.pid });
        }
        let title = format!("nodescope-{:x}-{:x}", std::process::id(), identity.clock_us as u64);
        let (threads, purposes, renewed) = (BTreeMap::new(), HashMap::new(), Instant::now());
        let pieces = Vec::new();
        let ending = Ending::NotYet;
        Ok(Self {
            client,
            options,
            identity,
            title,
            threads,
            purposes,
            guard,
            renewed,
            pieces,
            ending,
        })
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Begins. Returns when the main thread has confirmed that it is sampled.
    pub fn start(&mut self) -> Result<(), Error> {
        self.send(
            &Session::MAIN,
            "NodeRuntime.notifyWhenWaitingForDisconnect",
            &json!({ "enabled": true }),
        )?;
        self.begin(&Session::MAIN, ThreadInfo { worker: None, name: "main".into() })?;
        self.send(
            &Session::MAIN,
            "NodeWorker.enable",
            &json!({ "waitForDebuggerOnStart": false }),
        )?;
        let deadline = Instant::now() + self.options.patience;
        let is_starting = |thread: &Thread| thread.state == State::Starting;
        while self.threads.get(&Session::MAIN).is_some_and(is_starting) {
            if Instant::now() >= deadline {
                return Err(Error::NoAnswer(self.options.patience));
            }
            self.receive(deadline.saturating_duration_since(Instant::now()))?;
        }
        match self.threads.get(&Session::MAIN).is_some_and(|thread| thread.state == State::Over) {
            true => Err(self.refusal()),
            false => Ok(()),
        }
    }

    /// Works for that time: takes what comes, begins windows, and renews the time until the inspector closes.
    pub fn work(&mut self, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            self.receive(left)?;
            self.renew()?;
            self.turn()?;
            if left.is_zero() || self.ending != Ending::NotYet {
                return Ok(());
            }
        }
    }

    /// Ends: what was recorded last is delivered, as far as threads answer in that time.
    pub fn finish(&mut self, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        self.end()?;
        while self.threads.values().any(|thread| thread.state != State::Over) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.note_silence(within);
                return Ok(());
            }
            self.receive(left)?;
            self.end()?;
        }
        Ok(())
    }

    /// Leaves; closes the inspector if it was opened for us.
    pub fn leave(mut self) -> Result<(), Error> {
        if let (Ending::NotYet, Some(guard)) = (self.ending, &self.guard) {
            let params = json!({ "objectId": guard, "functionDeclaration": script::leave() });
            let answer =
                self.client.call("Runtime.callFunctionOn", &params, self.options.patience)?;
            remote_in(&answer).map_err(|what| Error::Refused { method: "leaving".into(), what })?;
        }
        if self.ending != Ending::Gone {
            self.client.close();
        }
        Ok(())
    }

    /// What has come since the last time.
    pub fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Whether it goes on.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    fn send(&mut self, session: &Session, method: &str, params: &Value) -> Result<(), Error> {
        self.send_for(Purpose::Nothing, session, method, params)
    }

    fn send_for(
        &mut self,
        purpose: Purpose,
        session: &Session,
        method: &str,
        params: &Value,
    ) -> Result<(), Error> {
        let id = self.note_end(|client| client.send(session, method, params))?;
        self.purposes.insert(id, purpose);
        Ok(())
    }

    /// Notes when the connection to the target is gone.
    fn note_end<T>(
        &mut self,
        ask: impl FnOnce(&mut Client<S>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let result = ask(&mut self.client);
        if matches!(result, Err(Error::Closed | Error::Io(_))) {
            self.ending = Ending::Gone;
        }
        result
    }

    fn begin(&mut self, session: &Session, info: ThreadInfo) -> Result<(), Error> {
        let interval = json!({ "interval": self.options.interval.as_micros() as u64 });
        self.send(session, "Profiler.enable", &json!({}))?;
        self.send_for(Purpose::Interval, session, "Profiler.setSamplingInterval", &interval)?;
        if self.options.calls {
            let params = json!({ "callCount": true, "detailed": false });
            self.send(session, "Profiler.startPreciseCoverage", &params)?;
        }
        if session.is_main() {
            let text = script::window(Some(&self.name(0)), None);
            self.evaluate_for(Purpose::Turn(Moment::Start), session, &text)?;
        } else {
            self.send_for(Purpose::Start, session, "Profiler.start", &json!({}))?;
        }
        let (state, pace, is_set) = (State::Starting, Pace::new(), Instant::now());
        let (listed, clocks) = (None, String::new());
        let thread =
            Thread { info, state, pace, window: 0, is_last: false, is_set, listed, clocks };
        self.threads.insert(session.clone(), thread);
        if session.is_main() { self.list_functions(session) } else { Ok(()) }
    }

    /// Asks where the functions stand that a thread has run, and what that takes. V8 looks through its heap for them
    /// and changes nothing: no feedback is allocated, nothing is deoptimised.
    fn list_functions(&mut self, session: &Session) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(session).filter(|_| !self.options.calls) else {
            return Ok(());
        };
        thread.listed = Some(Instant::now());
        self.evaluate_for(Purpose::Clocks, session, &script::clocks())?;
        self.send_for(Purpose::Functions, session, "Profiler.getBestEffortCoverage", &json!({}))?;
        self.evaluate_for(Purpose::Listed, session, &script::clocks())
    }

    /// Asks once more, because a thread runs code that is newer than its list: not often, and less often where it takes
    /// long.
    pub fn list_functions_again(&mut self, worker: Option<u32>) -> Result<(), Error> {
        let session = Session(worker.map(|worker| worker.to_string()));
        let is_due = |thread: &Thread| {
            let is_old =
                thread.listed.is_none_or(|listed| listed.elapsed() >= thread.pace.between_lists());
            is_old
                && matches!(thread.state, State::Running(_))
                && !thread.is_plain()
                && !thread.is_last
        };
        if self.threads.get(&session).is_some_and(is_due) {
            self.list_functions(&session)
        } else {
            Ok(())
        }
    }

    fn name(&self, window: u32) -> String {
        format!("{}-{window}", self.title)
    }

    fn evaluate_for(
        &mut self,
        purpose: Purpose,
        session: &Session,
        text: &str,
    ) -> Result<(), Error> {
        self.send_for(purpose, session, "Runtime.evaluate", &evaluation(text, true))
    }

    /// Begins the next window wherever it is time.
    fn turn(&mut self) -> Result<(), Error> {
        let is_due = |thread: &Thread| match thread.state {
            State::Running(since) => since.elapsed() >= thread.pace.length(),
            _ => false,
        };
        let due: Vec<Session> = self
            .threads
            .iter()
            .filter(|(_, thread)| is_due(thread))
            .map(|(session, _)| session.clone())
            .collect();
        due.iter().try_for_each(|session| self.change(session))
    }

    /// Begins the next window of a thread and ends the one that runs.
    fn change(&mut self, session: &Session) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(session) else { return Ok(()) };
        thread.state = State::Turning;
        let (window, is_plain) = (thread.window, thread.is_plain());
        thread.window += 1;
        let (next, last) = (self.name(window + 1), self.name(window));
        if is_plain {
            self.list_functions(session)?;
        }
        let text = script::window(Some(&next), Some(&*last).filter(|_| !is_plain));
        self.evaluate_for(Purpose::Turn(Moment::Change), session, &text)?;
        if is_plain {
            self.send_for(Purpose::Stop, session, "Profiler.stop", &json!({}))?;
        }
        Ok(())
    }

    /// Takes the next step to the end wherever a window runs. Those that are about to begin are ended when they have
    /// begun.
    fn end(&mut self) -> Result<(), Error> {
        let is_running = |thread: &Thread| matches!(thread.state, State::Running(_));
        let running: Vec<Session> = self
            .threads
            .iter()
            .filter(|(_, thread)| is_running(thread))
            .map(|(session, _)| session.clone())
            .collect();
        running.iter().try_for_each(|session| self.end_thread(session))
    }

    /// Ends in two steps, between which the thread can go on: the samples are handed over while a last window runs, and
    /// with that window the profiler ends, which takes V8 as long as forgetting all of the code.
    fn end_thread(&mut self, session: &Session) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(session) else { return Ok(()) };
        let (window, is_plain) = (thread.window, thread.is_plain());
        let is_last = std::mem::replace(&mut thread.is_last, true);
        if is_last || is_plain {
            thread.state = State::Ending;
        }
        // Counts come behind the samples, which show where functions stand.
        if is_plain {
            if !self.options.calls {
                self.send_for(
                    Purpose::Functions,
                    session,
                    "Profiler.getBestEffortCoverage",
                    &json!({}),
                )?;
            }
            self.send_for(Purpose::Stop, session, "Profiler.stop", &json!({}))?;
            if !is_last {
                self.take_calls(session)?;
            }
            self.send_for(Purpose::End, session, "Profiler.disable", &json!({}))
        } else if is_last {
            let text = script::window(None, Some(&self.name(window)));
            self.evaluate_for(Purpose::End, session, &text)
        } else {
            self.change(session)?;
            self.take_calls(session)
        }
    }

    /// Asks how often each function was called, where that is counted, and ends the counting.
    fn take_calls(&mut self, session: &Session) -> Result<(), Error> {
        if !self.options.calls {
            return Ok(());
        }
        self.send_for(Purpose::Calls, session, "Profiler.takePreciseCoverage", &json!({}))?;
        self.send(session, "Profiler.stopPreciseCoverage", &json!({}))
    }

    fn renew(&mut self) -> Result<(), Error> {
        let Some(guard) = &self.guard else { return Ok(()) };
        if self.renewed.elapsed() < RENEWAL {
            return Ok(());
        }
        let params = json!({ "objectId": guard, "functionDeclaration": script::renew() });
        self.renewed = Instant::now();
        self.send_for(Purpose::Renewal, &Session::MAIN, "Runtime.callFunctionOn", &params)
    }

    fn note_silence(&mut self, within: Duration) {
        // A thread that only has to end its profiler has handed over its samples.
        let is_done = |thread: &Thread| {
            thread.state == State::Over || (thread.state == State::Ending && !thread.is_plain())
        };
        let silent = self.threads.values().filter(|thread| !is_done(thread));
        let names: Vec<String> = silent.map(|thread| thread.info.name.clone()).collect();
        if names.is_empty() {
            return;
        }
        self.pieces.push(Piece::Loss(format!(
            "{} did not answer for {:.1} s: the last samples are missing",
            names.join(", "),
            within.as_secs_f64()
        )));
    }

    /// Why the main thread is not sampled.
    fn refusal(&self) -> Error {
        let what = self.pieces.iter().rev().find_map(|piece| match piece {
            Piece::Loss(what) => Some(what.clone()),
            _ => None,
        });
        Error::Refused { method: "Profiler".into(), what: what.unwrap_or_default() }
    }
}

/// Closes the inspector of a target that did not close it by itself, or could not be recorded.
pub fn close_inspector<S: Stream>(mut client: Client<S>, limit: Duration) -> Result<(), Error> {
    client.send(&Session::MAIN, "Runtime.evaluate", &evaluation(&script::close(), true))?;
    client.await_end(limit)
}

fn plant<S: Stream>(client: &mut Client<S>, limit: Duration) -> Result<String, Error> {
    let planted = evaluate(client, &script::guard(GUARD), false, limit)?;
    planted.object_id.ok_or_else(|| Error::Refused {
        method: "Runtime.evaluate".into(),
        what: "no timer".into(),
    })
}

fn evaluation(text: &str, by_value: bool) -> Value {
    json!({ "expression": text, "includeCommandLineAPI": true, "silent": true, "returnByValue": by_value })
}

fn evaluate<S: Stream>(
    client: &mut Client<S>,
    text: &str,
    by_value: bool,
    limit: Duration,
) -> Result<Remote, Error> {
    let method = "Runtime.evaluate";
    let answer = client.call(method, &evaluation(text, by_value), limit)?;
    remote_in(&answer).map_err(|what| Error::Refused { method: method.to_owned(), what })
}

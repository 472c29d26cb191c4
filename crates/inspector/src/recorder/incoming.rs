//! What a target sends while it is recorded: windows, answers to calls, and threads that begin and end.

use std::time::{Duration, Instant};

use http::Stream;
use serde_json::value::RawValue;

use super::{Ending, Purpose, Recorder, State, Thread};
use crate::answers::{Attached, Detached, Finished, Stopped, Taken, remote_in, stall_in, text_in};
use crate::error::Error;
use crate::message::{Body, Message, Session};
use crate::threads::{Calls, Functions, Moment, Piece, Stall, ThreadInfo, Window};

impl<S: Stream> Recorder<S> {
    pub(super) fn receive(&mut self, within: Duration) -> Result<(), Error> {
        // Not longer than until the next window is due.
        let soon = within.min(Duration::from_millis(100));
        let Some(message) = self.note_end(|client| client.receive(soon))? else { return Ok(()) };
        let Message { session, body } = message;
        match body {
            Body::Event { method, params } => self.event(&session, &method, &params),
            Body::Answer { id, result } => {
                let purpose = self.purposes.remove(&id).unwrap_or(Purpose::Nothing);
                self.answer(&session, purpose, &result);
                Ok(())
            }
        }
    }

    fn event(&mut self, session: &Session, method: &str, params: &str) -> Result<(), Error> {
        match method {
            "Profiler.consoleProfileFinished" => self.window(session, params),
            "NodeRuntime.waitingForDisconnect" => self.ending = Ending::Exiting,
            "NodeWorker.attachedToWorker" => {
                if let Ok(Attached { session_id, worker_info }) = serde_json::from_str(params) {
                    let info =
                        ThreadInfo { worker: session_id.parse().ok(), name: worker_info.title };
                    self.begin(&Session(Some(session_id)), info)?;
                }
            }
            "NodeWorker.detachedFromWorker" => {
                if let Ok(Detached { session_id }) = serde_json::from_str(params)
                    && let Some(thread) = self.threads.get_mut(&Session(Some(session_id)))
                {
                    thread.state = State::Over;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn window(&mut self, session: &Session, params: &str) {
        let Ok(Finished { title, profile }) = serde_json::from_str::<Finished<'_>>(params) else {
            return;
        };
        let is_ours = title.is_some_and(|title| title.starts_with(&self.title));
        if let Some(thread) = self.threads.get_mut(session).filter(|_| is_ours) {
            self.pieces.push(thread.hand_over(profile));
        }
    }

    fn answer(&mut self, session: &Session, purpose: Purpose, result: &Result<String, String>) {
        let Some(thread) = self.threads.get_mut(session) else { return };
        let piece = match (purpose, result) {
            (Purpose::Start, Ok(_)) => Some(thread.begin()),
            (Purpose::Start, Err(what)) => Some(thread.give_up(what)),
            (Purpose::Stop, Ok(text)) => {
                let stopped = serde_json::from_str::<Stopped<'_>>(text).ok();
                stopped.map(|stopped| thread.hand_over(stopped.profile))
            }
            (Purpose::Turn(moment), result) => Some(match stall_in(result, moment) {
                Ok(stall) => thread.turn(stall),
                Err(what) => thread.give_up(&what),
            }),
            (Purpose::End, result) => {
                thread.state = State::Over;
                stall_in(result, Moment::End).ok().map(Piece::Stall)
            }
            (Purpose::Clocks, result) => {
                thread.clocks = text_in(result).unwrap_or_default();
                None
            }
            (Purpose::Functions, Ok(text)) => coverage_in(text).map(|coverage| {
                Piece::Functions(Functions { thread: thread.info.clone(), coverage })
            }),
            (Purpose::Listed, result) => thread.list(&text_in(result).unwrap_or_default()),
            (Purpose::Calls, Ok(text)) => coverage_in(text)
                .map(|coverage| Piece::Calls(Calls { thread: thread.info.clone(), coverage })),
            (Purpose::Calls, Err(what)) => {
                Some(Piece::Loss(format!("calls were not counted: {what}")))
            }
            (Purpose::Interval, Ok(_)) => {
                thread.is_set = Instant::now();
                None
            }
            (Purpose::Interval, Err(what)) => {
                Some(Piece::Loss(format!("samples come in V8's own interval: {what}")))
            }
            (Purpose::Renewal, result) => {
                let renewed = result.as_ref().map_err(Clone::clone);
                renewed.and_then(|answer| remote_in(answer)).err().map(|what| {
                    let timer = "the timer that closes the inspector";
                    Piece::Loss(format!("{timer} could not be extended: {what}"))
                })
            }
            (Purpose::Nothing | Purpose::Stop | Purpose::Functions, _) => None,
        };
        self.pieces.extend(piece);
    }
}

impl Thread {
    /// Its first window has begun.
    fn begin(&mut self) -> Piece {
        let begin_ms = self.is_set.elapsed().as_secs_f64() * 1e3;
        self.state = State::Running(Instant::now());
        Piece::Stall(Stall { moment: Moment::Start, begin_ms, ..Stall::default() })
    }

    /// One window has ended, and the next one runs.
    fn turn(&mut self, stall: Stall) -> Piece {
        self.state = State::Running(Instant::now());
        self.pace.took(&stall);
        Piece::Stall(stall)
    }

    fn hand_over(&mut self, profile: &RawValue) -> Piece {
        let window = Window::new(self.info.clone(), profile.get());
        self.pace.saw(window.memory_bytes);
        Piece::Window(window)
    }

    fn give_up(&mut self, what: &str) -> Piece {
        self.state = State::Over;
        Piece::Loss(format!("thread {} could not be sampled: {what}", self.info.name))
    }

    /// Its functions were listed; `clocks` are those of the target afterwards.
    fn list(&mut self, clocks: &str) -> Option<Piece> {
        let stall = Stall::of_list(&self.clocks, clocks)?;
        self.pace.listed(&stall);
        Some(Piece::Stall(stall))
    }
}

fn coverage_in(text: &str) -> Option<String> {
    serde_json::from_str(text).map(|Taken { result }| result.get().to_owned()).ok()
}

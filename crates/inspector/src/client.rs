//! Calls and their answers: each call has a number and a time limit, because a target that is stopped never answers.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use http::Stream;
use serde_json::Value;

use crate::error::Error;
use crate::message::{self, Body, Message, Session};
use crate::websocket::WebSocket;

/// How long sending may take: a target that reads nothing is stopped.
const SENDING: Duration = Duration::from_secs(2);

/// How long its inspector may take to close the connection.
const LEAVING: Duration = Duration::from_millis(500);

/// A conversation with a target.
pub struct Client<S> {
    socket: WebSocket<S>,
    last_id: u64,
    /// Calls without an answer yet.
    pending: HashMap<u64, Pending>,
    /// What came while an answer was waited for.
    waiting: VecDeque<Message>,
}

struct Pending {
    session: Session,
    method: String,
}

impl<S: Stream> Client<S> {
    /// Begins a conversation over a connection, with the target at that path (`/` and its id).
    pub fn connect(stream: S, path: &str, limit: Duration) -> Result<Self, Error> {
        let socket = WebSocket::open(stream, path, limit)?;
        Ok(Self { socket, last_id: 0, pending: HashMap::new(), waiting: VecDeque::new() })
    }

    /// Sends a call; its answer comes as a message with the number that is returned.
    pub(crate) fn send(
        &mut self,
        session: &Session,
        method: &str,
        params: &Value,
    ) -> Result<u64, Error> {
        self.last_id += 1;
        self.socket.send(&message::call(session, self.last_id, method, params), SENDING)?;
        self.pending
            .insert(self.last_id, Pending { session: session.clone(), method: method.to_owned() });
        Ok(self.last_id)
    }

    /// Sends a call to the main thread and waits for its answer.
    pub(crate) fn call(
        &mut self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<String, Error> {
        let id = self.send(&Session::MAIN, method, params)?;
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.read(left)? {
                Some(Message { body: Body::Answer { id: found, result }, .. }) if found == id => {
                    return result
                        .map_err(|what| Error::Refused { method: method.to_owned(), what });
                }
                Some(other) => self.waiting.push_back(other),
                None if left.is_zero() => return Err(Error::NoAnswer(limit)),
                None => {}
            }
        }
    }

    /// The next message, or none in that time.
    pub(crate) fn receive(&mut self, within: Duration) -> Result<Option<Message>, Error> {
        match self.waiting.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.read(within),
        }
    }

    /// Waits until the other side ends the conversation, and agrees.
    pub(crate) fn await_end(&mut self, limit: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.read(left) {
                Ok(_) if left.is_zero() => return Err(Error::NoAnswer(limit)),
                Ok(_) => {}
                Err(Error::Closed) => {
                    self.close();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the conversation.
    pub(crate) fn close(&mut self) {
        self.socket.close(LEAVING);
    }

    fn read(&mut self, within: Duration) -> Result<Option<Message>, Error> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(text) = self.socket.receive(left)? else { return Ok(None) };
            let parsed = message::parse(&text).map_err(Error::malformed)?;
            if let Some(message) = parsed.and_then(|message| self.settle(message)) {
                return Ok(Some(message));
            }
        }
    }

    /// Finds the call of an answer. What goes to a worker is answered twice, first by its main thread: that only counts
    /// where it is a refusal.
    fn settle(&mut self, message: Message) -> Option<Message> {
        let Body::Answer { id, result } = message.body else { return Some(message) };
        let pending = self.pending.get(&id)?;
        if pending.session != message.session && result.is_ok() {
            return None;
        }
        let Pending { session, method } = self.pending.remove(&id)?;
        let result = result.map_err(|what| format!("{method}: {what}"));
        Some(Message { session, body: Body::Answer { id, result } })
    }
}

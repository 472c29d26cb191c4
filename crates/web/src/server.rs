//! The server: the page and its recordings for browsers on this machine. One thread for each connection and one request
//! on each: there is one user. Whatever a client sends, it costs a bounded time and a bounded memory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::gate::Gate;
use crate::http::{self, Request, Response};
use crate::library::{Library, Refusal};
use crate::neighbour::is_stranger;
use crate::page::{served_page, served_policy};
use crate::secret::Secret;

/// A browser opens six. As many again get the answer that there are too many; more get no answer.
const MOST_CONNECTIONS: usize = 64;
/// How long we wait where the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that other machines cannot reach.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    code: Secret,
    shared: Arc<Shared>,
}

/// What all connections share.
struct Shared {
    gate: Gate,
    library: Box<dyn Library>,
    page: Arc<[u8]>,
    policy: Arc<str>,
    connections: AtomicUsize,
}

impl Server {
    /// Takes a port, any for 0; no request is answered before [`Server::run`].
    pub fn bind(port: u16, library: impl Library + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let (gate, code) = Gate::new()?;
        let shared = Shared {
            gate,
            library: Box::new(library),
            page: served_page().into_bytes().into(),
            policy: served_policy().into(),
            connections: AtomicUsize::new(0),
        };
        Ok(Self { address: listener.local_addr()?, listener, code, shared: Arc::new(shared) })
    }

    /// The port that it has.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What to open in a browser. It works once.
    pub fn address(&self) -> String {
        format!("http://{}/?code={}", self.address, self.code.text())
    }

    /// Answers, for as long as the program lives.
    pub fn run(&self) {
        for connection in self.listener.incoming() {
            // What goes wrong here is over when a connection ends.
            let Ok(stream) = connection else {
                thread::sleep(PAUSE);
                continue;
            };
            let Some(slot) = Slot::take(&self.shared) else { continue };
            let work = move || {
                // A browser that has gone away needs no answer.
                let _ = serve(stream, &slot);
            };
            if thread::Builder::new().name("connection".into()).spawn(work).is_err() {
                thread::sleep(PAUSE);
            }
        }
    }
}

/// One of the connections.
struct Slot {
    shared: Arc<Shared>,
    is_one_too_many: bool,
}

impl Slot {
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let before = shared.connections.fetch_add(1, Ordering::Relaxed);
        let slot = Self { shared: Arc::clone(shared), is_one_too_many: before >= MOST_CONNECTIONS };
        (before < 2 * MOST_CONNECTIONS).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, slot: &Slot) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if slot.is_one_too_many {
        let busy = Response::sentence(503, "there are too many connections: try again");
        return http::answer(&mut stream, &busy, false);
    }
    let (theirs, ours) = (stream.peer_addr()?, stream.local_addr()?);
    let (response, is_head) = match http::read(&mut stream) {
        None => return Ok(()),
        Some(Err(refused)) => (refused, false),
        Some(Ok(request)) => {
            let passed = slot.shared.gate.check(&request, || is_stranger(theirs, ours));
            let response =
                passed.map_or_else(|refused| refused, |()| slot.shared.respond(&request));
            (response, request.method == "HEAD")
        }
    };
    http::answer(&mut stream, &response, is_head)
}

impl Shared {
    /// Answers a client that may see everything.
    fn respond(&self, request: &Request) -> Response {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        match parts.as_slice() {
            [""] => self.page(),
            ["recordings.json"] => self.list(request),
            ["gists.json"] => json_answer(self.library.known_gists()),
            ["recording", id, "gist.json"] if is_id(id) => {
                answer_with(self.library.gist(id), json_answer)
            }
            ["recording", id] if is_id(id) => answer_with(self.library.recording(id), |bytes| {
                Response::new(200, "application/octet-stream", bytes)
            }),
            ["recording", id, "page-report.json"] if is_id(id) => {
                answer_with(self.library.report(id), json_answer)
            }
            ["recording", id, "page.html"] if is_id(id) => {
                answer_with(self.library.page(id), file_answer)
            }
            ["compared", before, now, "page.html"] if is_id(before) && is_id(now) => {
                answer_with(self.library.compared_page(before, now), file_answer)
            }
            ["compared", before, now] if is_id(before) => self.compared(before, now),
            ["recording", id, "source", row] if is_id(id) => {
                text_of(row, |row| self.library.source(id, row))
            }
            ["recording", id, "place", row] if is_id(id) => {
                text_of(row, |row| self.library.place(id, row))
            }
            _ => nothing_here(),
        }
    }

    fn page(&self) -> Response {
        let page = Response::new(200, "text/html; charset=utf-8", Arc::clone(&self.page));
        Response { policy: Some(Arc::clone(&self.policy)), ..page }
    }

    /// A page asks for the list again and again: where nothing has changed, the answer is empty.
    fn list(&self, request: &Request) -> Response {
        let json = match serde_json::to_vec(&self.library.list()) {
            Ok(json) => json,
            Err(error) => return Response::sentence(422, &error.to_string()),
        };
        let mark = mark_of(&json);
        if request.all("if-none-match").any(|known| known == mark) {
            return Response::new(304, "application/json", Arc::new([])).with("ETag", mark);
        }
        json_answer(json.into()).with("ETag", mark)
    }

    fn compared(&self, before: &str, now: &str) -> Response {
        match now.strip_suffix(".json").filter(|now| is_id(now)) {
            Some(now) => answer_with(self.library.compared(before, now), json_answer),
            None => nothing_here(),
        }
    }
}

/// A short word that is another one for other bytes.
fn mark_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

/// A text about one row.
fn text_of(row: &str, find: impl FnOnce(usize) -> Result<String, Refusal>) -> Response {
    let is_number = row.bytes().all(|byte| byte.is_ascii_digit());
    let Some(row) = row.parse().ok().filter(|_| is_number) else { return nothing_here() };
    answer_with(find(row), |text| {
        Response::new(200, "text/plain; charset=utf-8", text.into_bytes().into())
    })
}

fn json_answer(json: Arc<[u8]>) -> Response {
    Response::new(200, "application/json", json)
}

/// A page to keep: opened here it would have the rights of the page that is served.
fn file_answer(page: Arc<[u8]>) -> Response {
    Response::new(200, "text/html; charset=utf-8", page).with("Content-Disposition", "attachment")
}

/// An id is letters and digits, never a path.
fn is_id(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn answer_with<T>(found: Result<T, Refusal>, answer: impl FnOnce(T) -> Response) -> Response {
    match found {
        Ok(found) => answer(found),
        Err(Refusal::Unknown(sentence)) => Response::sentence(404, &sentence),
        Err(Refusal::Unreadable(sentence)) => Response::sentence(422, &sentence),
    }
}

fn nothing_here() -> Response {
    Response::sentence(404, "there is nothing here")
}

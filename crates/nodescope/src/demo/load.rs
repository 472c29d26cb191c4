//! The demo's clients: a few connections that are kept open and send requests of several kinds, at a pace that keeps
//! the service busy and does not overload it, whatever the machine; or at a given pace, which another run has, too.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use http::{Connection, Limits, Request as HttpRequest};

const CLIENTS: u64 = 4;
/// Several times what the service's cache holds.
const USERS: u64 = 20_000;
/// How busy the event loop should be.
const WANTED: f64 = 0.6;
/// How often the pace is set anew.
const LOOK: Duration = Duration::from_millis(250);
/// Between two requests of a client.
const FIRST_PAUSE_US: u64 = 8_000;
const SHORTEST_PAUSE_US: u64 = 1_000;
const LONGEST_PAUSE_US: u64 = 200_000;
/// A service that does not answer for so long has ended or hangs; and more than it ever sends.
const LIMITS: Limits =
    Limits { time: Duration::from_secs(5), head_bytes: 64 << 10, body_bytes: 4 << 20 };
/// The unit of times in /proc/PID/stat.
const TICKS_A_SECOND: f64 = 100.0;

/// How often each kind of request comes, of a hundred.
const MIX: [(u64, Request); 4] =
    [(42, Request::Orders), (38, Request::Page), (15, Request::Report), (5, Request::Login)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Orders,
    Page,
    Report,
    Login,
}

/// When clients ask.
#[derive(Clone, Debug)]
enum Pace {
    /// So that the event loop is as busy as wanted: the pause between two requests of a client, in microseconds.
    Adapted(Arc<AtomicU64>),
    /// So long after one another, however long an answer takes: two services get the same requests in the same time.
    Fixed(Duration),
}

impl Pace {
    /// When a client asks that asked at this time and has its answer now. Random, so that clients do not ask in step.
    fn next(&self, asked: Instant, now: Instant, dice: &mut Dice) -> Instant {
        let (from, pause_us) = match self {
            Self::Adapted(pause_us) => (now, pause_us.load(Ordering::Relaxed)),
            Self::Fixed(pause) => (asked, pause.as_micros() as u64),
        };
        from + Duration::from_micros(pause_us / 2 + dice.below(pause_us.max(1)))
    }
}

/// The load; it ends when this is dropped.
pub(super) struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Puts load on the service: with this pause between two requests of a client, or what suits the machine.
    pub(super) fn start(port: u16, pid: u32, pause: Option<Duration>) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let pause_us = Arc::new(AtomicU64::new(FIRST_PAUSE_US));
        let pace = pause.map_or_else(|| Pace::Adapted(pause_us.clone()), Pace::Fixed);
        let mut load = Self { is_over: is_over.clone(), threads: Vec::new() };
        for client in 0..CLIENTS {
            let (is_over, pace) = (is_over.clone(), pace.clone());
            load.add(move || {
                while !is_over.load(Ordering::Relaxed) {
                    // The recorder reports a service that has ended.
                    let _ = visit(port, client, &is_over, &pace);
                    thread::sleep(Duration::from_millis(50));
                }
            })?;
        }
        if pause.is_none() {
            load.add(move || set_pace(pid, &is_over, &pause_us))?;
        }
        Ok(load)
    }

    fn add(&mut self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().name("demo-load".into()).spawn(work)?);
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has already printed why.
            let _ = thread.join();
        }
    }
}

/// One client, on one connection.
fn visit(port: u16, client: u64, is_over: &AtomicBool, pace: &Pace) -> Result<(), http::Error> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    let mut connection = Connection::new(stream);
    let mut dice = Dice(client + 1);
    let mut next = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        let Asked { method, path, body } = question(&mut dice);
        let body = Some(body.as_str());
        let request = HttpRequest { method, path: &path, host: "shop.local", fields: &[], body };
        connection.ask(&request, &LIMITS)?;
        next = pace.next(next, Instant::now(), &mut dice);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// What the service is asked.
struct Asked {
    method: &'static str,
    path: String,
    body: String,
}

fn question(dice: &mut Dice) -> Asked {
    let user = format!("customer-{}", dice.below(USERS));
    let (method, path, body) = match choose(dice.below(100)) {
        Request::Orders => ("POST", "/orders".to_owned(), order(&user, dice)),
        Request::Page => {
            let word = ["gr", "so", "ta", "ke", "b"][dice.below(5) as usize];
            ("GET", format!("/page?q={word}&user={user}"), String::new())
        }
        Request::Report => ("GET", "/report".to_owned(), String::new()),
        Request::Login => (
            "POST",
            "/login".to_owned(),
            format!("{{\"user\":\"{user}\",\"password\":\"open sesame\"}}"),
        ),
    };
    Asked { method, path, body }
}

fn choose(number: u64) -> Request {
    let mut end = 0;
    let mut rows = MIX.iter().copied();
    let found = rows.find(|(share, _)| {
        end += share;
        number < end
    });
    found.map_or(Request::Page, |(_, request)| request)
}

fn order(user: &str, dice: &mut Dice) -> String {
    let line = |dice: &mut Dice| {
        format!("{{\"article\":{},\"count\":{}}}", dice.below(600), dice.below(15))
    };
    let lines: Vec<String> = (0..60 + dice.below(120)).map(|_| line(dice)).collect();
    format!("{{\"customer\":\"{user}\",\"lines\":[{}]}}", lines.join(","))
}

/// Looks how busy the event loop's thread is, and lets clients come sooner or later.
fn set_pace(pid: u32, is_over: &AtomicBool, pause_us: &AtomicU64) {
    let mut last = (Instant::now(), cpu_seconds(pid));
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        let now = (Instant::now(), cpu_seconds(pid));
        if let (Some(before), Some(after)) = (last.1, now.1) {
            let busy = (after - before) / now.0.duration_since(last.0).as_secs_f64();
            let _ = pause_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |us| {
                Some(next_pause(us, busy))
            });
        }
        last = now;
    }
}

/// Twice as busy as wanted: half as many requests. Never at a stroke, for one look may meet the heavy job.
fn next_pause(pause_us: u64, busy: f64) -> u64 {
    let factor = (busy / WANTED).clamp(0.7, 1.4);
    ((pause_us as f64 * factor) as u64).clamp(SHORTEST_PAUSE_US, LONGEST_PAUSE_US)
}

/// What the main thread has used so far.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = |at: usize| fields.split(' ').nth(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_A_SECOND)
}

/// The same numbers on every run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_request_comes() {
        assert_eq!(MIX.iter().map(|(share, _)| share).sum::<u64>(), 100);
        let mut dice = Dice(1);
        let asked = |dice: &mut Dice| question(dice);
        let texts = (0..500)
            .map(|_| asked(&mut dice))
            .map(|Asked { method, path, .. }| format!("{method} {path}"));
        let texts: Vec<String> = texts.collect();
        for path in ["POST /orders", "GET /page?q=", "GET /report", "POST /login"] {
            let count = texts.iter().filter(|text| text.starts_with(path)).count();
            assert!((10..300).contains(&count), "{path}: {count}");
        }
    }

    #[test]
    fn a_fixed_pace_does_not_follow_the_service() {
        let start = Instant::now();
        let asked_until = |pace: &Pace, answer: Duration| {
            let (mut dice, mut next, mut count) = (Dice(1), start, 0);
            while next < start + Duration::from_secs(10) {
                next = pace.next(next, next + answer, &mut dice);
                count += 1;
            }
            count
        };
        let (quick, slow) = (Duration::from_micros(100), Duration::from_millis(5));
        let fixed = Pace::Fixed(Duration::from_millis(10));
        assert_eq!(asked_until(&fixed, quick), asked_until(&fixed, slow));
        let adapted = Pace::Adapted(Arc::new(AtomicU64::new(10_000)));
        assert!(asked_until(&adapted, quick) > asked_until(&adapted, slow));
    }

    #[test]
    fn the_pace_settles() {
        assert_eq!(next_pause(10_000, WANTED), 10_000);
        assert!(next_pause(10_000, 1.0) > 10_000 && next_pause(10_000, 0.2) < 10_000);
        assert_eq!(next_pause(SHORTEST_PAUSE_US, 0.0), SHORTEST_PAUSE_US);
        assert_eq!(next_pause(LONGEST_PAUSE_US, 9.0), LONGEST_PAUSE_US);
    }
}

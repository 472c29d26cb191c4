//! `nodescope view`, asked by raw HTTP: what the browser gets, and that no other program gets anything. Each rule of
//! the server has a test here that fails without it.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::program::{self, Scratch, fails, input, nodescope, recording, stderr};
use crate::skip::skip;

/// A running `nodescope view`.
pub struct View {
    child: Child,
    port: u16,
    code: String,
}

impl View {
    fn start(arguments: &[&str]) -> Self {
        Self::start_as(nodescope(&[&["view", "--no-browser"], arguments].concat()))
    }

    pub fn start_as(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        if address.is_empty() {
            let output = child.wait_with_output().unwrap();
            panic!("view ended: {}", stderr(&output));
        }
        let rest = address.trim().strip_prefix("http://127.0.0.1:").unwrap();
        let (port, code) = rest.split_once("/?code=").unwrap();
        Self { port: port.parse().unwrap(), code: code.to_owned(), child }
    }

    /// Sends these bytes and gives what comes back.
    fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // It may refuse early and read no further.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Answer::parse(&answer)
    }

    /// Asks as a browser does, with these headers instead of or beside its own.
    pub fn ask(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        let own = format!("127.0.0.1:{}", self.port);
        let host = headers
            .iter()
            .find(|(name, _)| *name == "Host")
            .map_or(own.as_str(), |(_, value)| value);
        let mut text = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n");
        for (name, value) in headers.iter().filter(|(name, _)| *name != "Host") {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        self.send(format!("{text}\r\n").as_bytes())
    }

    /// Uses the code, and gives the cookie.
    pub fn enter(&self) -> String {
        let answer = self.ask(&format!("/?code={}", self.code), &[]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap();
        cookie.split_once(';').unwrap().0.to_owned()
    }

    fn json(&self, cookie: &str) -> Value {
        let answer = self.ask("/recordings.json", &[("Cookie", cookie)]);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// A signal, and what it makes of it: its exit status, and what it has printed.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let mut messages = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        (self.child.wait().unwrap().code(), messages)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("no head");
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_lowercase(), value.to_owned())
        };
        Self { status, headers: lines.map(header).collect(), body: bytes[end + 4..].to_vec() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A refusal that contains nothing but a sentence.
fn is_refused(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    let text = answer.text();
    assert!(text.lines().count() == 1 && text.len() < 200 && !text.contains('<'), "{text}");
    assert!(answer.header("set-cookie").is_none(), "{answer:?}");
}

fn served() -> (View, String) {
    let view = View::start(&[&input("node22-gc")]);
    let cookie = view.enter();
    (view, cookie)
}

#[test]
fn a_file_is_served_and_shown_at_once() {
    let (view, cookie) = served();
    let page = view.ask("/", &[("Cookie", &cookie)]);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.text().contains("<meta name=\"nodescope-home\" content=\"served\">"));
    let list = view.json(&cookie);
    let rows = list["recordings"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{list}");
    assert_eq!(list["open"], Value::Array(vec![rows[0]["id"].clone()]));
    assert!(rows[0]["folder"].as_str().unwrap().ends_with("node22-gc"), "{list}");
    assert_eq!(rows[0]["bytes"].as_u64(), Some(fs::metadata(input("node22-gc")).unwrap().len()));
    let id = rows[0]["id"].as_str().unwrap();
    let answer = view.ask(&format!("/recording/{id}"), &[("Cookie", &cookie)]);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/octet-stream"))
    );
    assert_eq!(answer.body, recording(), "the same file as export writes");
    let head = view.send(
        format!("HEAD /recording/{id} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n")
            .as_bytes(),
    );
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length").unwrap(), answer.body.len().to_string());
}

#[test]
fn nothing_is_shown_without_the_cookie() {
    let (view, cookie) = served();
    let last = if cookie.ends_with('0') { "1" } else { "0" };
    let wrong = format!("{}{last}", &cookie[..cookie.len() - 1]);
    let other_name = format!("x{cookie}");
    let targets = [
        "/",
        "/recordings.json",
        "/recording/1",
        "/recording/1/source/0",
        "/recording/1/place/0",
        "/recording/1/gist.json",
        "/gists.json",
        "/recording/9",
        "/nothing",
        "/?code=",
        "/?code=x",
    ];
    for target in targets {
        is_refused(&view.ask(target, &[]), 403);
        is_refused(&view.ask(target, &[("Cookie", "nodescope=1; a=b")]), 403);
        is_refused(&view.ask(target, &[("Cookie", &other_name)]), 403);
        is_refused(&view.ask(target, &[("Cookie", &wrong)]), 403);
    }
    // All of them learn the same: not even what there is.
    assert_eq!(view.ask("/recording/1", &[]).text(), view.ask("/nothing", &[]).text());
}

#[test]
fn the_code_works_once() {
    let view = View::start(&[&input("node22-gc")]);
    assert!(
        view.code.len() >= 32 && view.code.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{}",
        view.code
    );
    let with_code = format!("/?code={}", view.code);
    // Guesses, heads and other pages do not use it up.
    is_refused(&view.ask(&format!("/?code={}0", &view.code[1..]), &[]), 403);
    is_refused(&view.ask(&with_code, &[("Sec-Fetch-Site", "cross-site")]), 403);
    is_refused(&view.ask(&with_code, &[("Host", "evil.example")]), 403);
    let answer = view.ask(&with_code, &[("Sec-Fetch-Site", "none")]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let cookie = answer.header("set-cookie").unwrap();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Domain") && !cookie.contains(&view.code), "{cookie}");
    let again = view.ask(&with_code, &[]);
    is_refused(&again, 403);
    assert!(
        again.text().contains("works once") && again.text().contains("run it again"),
        "{}",
        again.text()
    );
    // A browser that has the cookie already is led to the page.
    let pair = cookie.split_once(';').unwrap().0;
    assert_eq!(view.ask(&with_code, &[("Cookie", pair)]).status, 303);
}

#[test]
fn two_servers_have_two_cookies() {
    let (one, other) = (served(), served());
    let name = |cookie: &str| cookie.split_once('=').unwrap().0.to_owned();
    assert_ne!(name(&one.1), name(&other.1));
    is_refused(&one.0.ask("/", &[("Cookie", &other.1)]), 403);
    assert_eq!(one.0.ask("/", &[("Cookie", &format!("{}; {}", other.1, one.1))]).status, 200);
}

#[test]
fn names_of_other_machines_are_refused() {
    let (view, cookie) = served();
    let port = view.port;
    for host in [
        "127.0.0.1",
        "127.0.0.1:9",
        "localhost",
        "localhost:8080",
        "[::1]:65535",
        &format!("localhost:{port}"),
    ] {
        assert_eq!(view.ask("/", &[("Host", host), ("Cookie", &cookie)]).status, 200, "{host}");
    }
    for host in [
        "evil.com",
        "evil.com:80",
        "127.0.0.1.evil.com",
        "localhost.evil.com",
        "127.0.0.1:x",
        "",
        "192.168.0.1",
    ] {
        is_refused(&view.ask("/", &[("Host", host), ("Cookie", &cookie)]), 403);
    }
    is_refused(&view.send(format!("GET / HTTP/1.1\r\nCookie: {cookie}\r\n\r\n").as_bytes()), 403);
    let two =
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\nCookie: {cookie}\r\n\r\n");
    is_refused(&view.send(two.as_bytes()), 403);
}

#[test]
fn other_pages_are_refused() {
    let (view, cookie) = served();
    let cookie = ("Cookie", cookie.as_str());
    let own = format!("http://127.0.0.1:{}", view.port);
    assert_eq!(view.ask("/recordings.json", &[cookie, ("Origin", &own)]).status, 200);
    for origin in [
        "http://evil.com",
        "null",
        "http://127.0.0.1:1",
        "http://localhost",
        "file://",
        &own.replace("http", "https"),
    ] {
        is_refused(&view.ask("/recordings.json", &[cookie, ("Origin", origin)]), 403);
    }
    for site in ["same-origin", "none"] {
        assert_eq!(view.ask("/", &[cookie, ("Sec-Fetch-Site", site)]).status, 200, "{site}");
    }
    for site in ["cross-site", "same-site", "sideways"] {
        is_refused(&view.ask("/", &[cookie, ("Sec-Fetch-Site", site)]), 403);
    }
}

#[test]
fn every_answer_keeps_to_itself() {
    let (view, cookie) = served();
    let cookie = ("Cookie", cookie.as_str());
    let answers = [
        view.ask("/", &[cookie]),
        view.ask("/recordings.json", &[cookie]),
        view.ask("/recording/1", &[cookie]),
        view.ask("/", &[]),
        view.ask("/", &[("Host", "evil.com")]),
        view.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na=b"),
        view.send(b"nonsense\r\n\r\n"),
    ];
    for answer in answers {
        let all = [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-frame-options", "DENY"),
        ];
        for (name, value) in all {
            assert_eq!(answer.header(name), Some(value), "{answer:?}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"),
            "{policy}"
        );
        assert!(
            !answer.headers.iter().any(|(name, _)| name.starts_with("access-control")),
            "{answer:?}"
        );
        assert_eq!(answer.header("content-length").unwrap(), answer.body.len().to_string());
    }
}

#[test]
fn it_only_shows() {
    let (view, cookie) = served();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH", "get"] {
        let request = format!("{method} / HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n");
        let answer = view.send(request.as_bytes());
        is_refused(&answer, 405);
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method}");
    }
}

#[test]
fn no_path_leads_to_a_file() {
    let (view, cookie) = served();
    for target in [
        "/../../../../etc/passwd",
        "/recording/../../../../etc/passwd",
        "/recording/..%2f..%2fetc%2fpasswd",
        "/recording/%2e%2e/1",
        "/recording//etc/passwd",
        "/recording/1/../1",
        "/recording/1/source/../../1",
        "/recording/1/source/-1",
        "/recording/1/source/+1",
        "/recording/1/source/99999999999999999999999",
        "/recording/1/source/999999",
        "/recording/1/place/../../1",
        "/recording/1/place/999999",
        "/recording/0",
        "/recording/2",
        "/recording/",
        "//recordings.json",
        "/recordings.json/",
        "/ui.js",
    ] {
        is_refused(&view.ask(target, &[("Cookie", &cookie)]), 404);
    }
    for target in ["etc/passwd", "*", "http://127.0.0.1/", "/a b"] {
        is_refused(&view.ask(target, &[("Cookie", &cookie)]), 400);
    }
}

#[test]
fn large_and_broken_requests_are_refused() {
    let (view, cookie) = served();
    let large = "a".repeat(20_000);
    is_refused(&view.ask("/", &[("Cookie", &cookie), ("X", &large)]), 431);
    is_refused(&view.ask(&format!("/{large}"), &[("Cookie", &cookie)]), 431);
    let many: Vec<(&str, &str)> = vec![("X", "y"); 200];
    is_refused(&view.ask("/", &many), 431);
    // A head that never ends.
    let endless =
        [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ".as_slice(), &vec![b'a'; 8 << 20]].concat();
    is_refused(&view.send(&endless), 431);
    for broken in [
        "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        "GET / HTTP/9\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
        "\u{16}\u{3}\u{1}\r\n\r\n",
    ] {
        is_refused(&view.send(broken.as_bytes()), 400);
    }
    // The server still answers.
    assert_eq!(view.ask("/", &[("Cookie", &cookie)]).status, 200);
}

#[test]
fn slow_clients_block_no_others() {
    let (view, cookie) = served();
    let slow: Vec<TcpStream> = (0..40)
        .map(|row| {
            let mut stream = TcpStream::connect(("127.0.0.1", view.port)).unwrap();
            // Some send nothing, some begin and stop.
            if row % 2 == 0 {
                stream.write_all(b"GET / HT").unwrap();
            }
            stream
        })
        .collect();
    assert_eq!(view.ask("/recording/1", &[("Cookie", &cookie)]).status, 200);
    // Too many of them are turned away, and leave when they are asked to.
    let more: Vec<TcpStream> =
        (0..60).map(|_| TcpStream::connect(("127.0.0.1", view.port)).unwrap()).collect();
    let turned_away = view.ask("/", &[("Cookie", &cookie)]);
    assert_eq!(turned_away.status, 503, "{turned_away:?}");
    for stream in slow.iter().chain(&more) {
        let _ = stream.shutdown(Shutdown::Both);
    }
    drop((slow, more));
    let deadline = Instant::now() + Duration::from_secs(60);
    while view.ask("/", &[("Cookie", &cookie)]).status == 503 {
        assert!(Instant::now() < deadline, "connections that have ended still count");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn other_machines_do_not_reach_it() {
    let (view, _) = served();
    let pid = view.child.id();
    let listening = |list: &str| {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{list}")).unwrap_or_default();
        let port = format!(":{:04X}", view.port);
        let is_ours = |line: &&str| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            words.get(3) == Some(&"0A") && words[1].ends_with(&port)
        };
        text.lines()
            .filter(is_ours)
            .map(|line| line.split_ascii_whitespace().nth(1).unwrap().to_owned())
            .collect()
    };
    let found: Vec<String> =
        ["tcp", "tcp6"].iter().flat_map(|list| -> Vec<String> { listening(list) }).collect();
    let (on_loopback, _) = found[0].split_once(':').unwrap();
    assert_eq!((found.len(), on_loopback), (1, "0100007F"), "{found:?}");
    // And by the address that others know this machine by.
    let outside = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    match outside {
        Ok(address) if !address.ip().is_loopback() => {
            let stream = TcpStream::connect_timeout(
                &(address.ip(), view.port).into(),
                Duration::from_secs(5),
            );
            assert!(stream.is_err(), "{address}");
        }
        _ => skip("connecting from outside: this machine has no other address"),
    }
}

#[test]
fn another_user_cannot_use_the_code() {
    if !is_root() {
        return skip("another user's connection: this test is not run by root");
    }
    use std::os::unix::process::CommandExt;
    // The folder of the project may be closed to other users.
    let scratch = Scratch::for_all("view-user");
    let program = scratch.program_for_all(program::path(), "nodescope");
    scratch.file("gc.txt.gz", &fs::read(input("node22-gc")).unwrap());
    // A service of one user, asked by another; root may see everything anyway.
    let mut command = Command::new(program);
    command.args(["view", "--no-browser", &scratch.path("gc.txt.gz")]).uid(65_001).gid(65_001);
    let view = View::start_as(command);
    let ask = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}; printf 'GET /?code={} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3; cat <&3",
        view.port, view.code
    );
    let asked_by = |user: u32| {
        let output = Command::new("bash").args(["-c", &ask]).uid(user).gid(user).output().unwrap();
        Answer::parse(&output.stdout)
    };
    let answer = asked_by(65_002);
    is_refused(&answer, 403);
    assert!(answer.text().contains("user"), "{}", answer.text());
    assert_eq!(asked_by(65_001).status, 303);
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_folder_is_a_list_that_stays_new() {
    let scratch = Scratch::new("view-folder");
    fs::create_dir_all(scratch.path("deep/er")).unwrap();
    fs::create_dir_all(scratch.path("node_modules/x")).unwrap();
    fs::create_dir_all(scratch.path(".hidden")).unwrap();
    let ours = recording();
    scratch.file("mine.nodescope", &ours);
    scratch.file("deep/er/text.txt.gz", &fs::read(input("node22-gc")).unwrap());
    scratch.file("deep/noname", &ours);
    scratch.file("node_modules/x/a.nodescope", &ours);
    scratch.file(".hidden/a.nodescope", &ours);
    scratch.file("notes.txt", b"this is no recording\n");
    scratch.file("settings.json", b"{\"a\": 1}\n");
    scratch.file("empty.nodescope", b"");
    // In this order, the last one newest.
    let start = SystemTime::now() - Duration::from_secs(3600);
    for (row, name) in ["deep/noname", "mine.nodescope", "deep/er/text.txt.gz"].iter().enumerate() {
        let file = File::options().write(true).open(scratch.path(name)).unwrap();
        file.set_modified(start + Duration::from_secs(row as u64)).unwrap();
    }
    let view = View::start(&[&scratch.path("")]);
    let cookie = view.enter();
    let list = view.json(&cookie);
    let shown = |list: &Value| -> Vec<(String, String)> {
        let rows = list["recordings"].as_array().unwrap();
        let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.iter().map(|row| (word(row, "folder"), word(row, "name"))).collect()
    };
    let pair = |folder: &str, name: &str| (folder.to_owned(), name.to_owned());
    let expected =
        [pair("deep/er", "text.txt.gz"), pair("", "mine.nodescope"), pair("deep", "noname")];
    assert_eq!(shown(&list), expected);
    assert_eq!(list["open"], Value::Array(Vec::new()));
    let newest = list["recordings"][0]["modified_ms"].as_u64().unwrap();
    assert_eq!(
        Duration::from_millis(newest).as_secs(),
        (start + Duration::from_secs(2)).duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
    );
    // Ids stay; a new file appears; one that is gone is refused.
    scratch.file("new.nodescope", &ours);
    fs::remove_file(scratch.path("mine.nodescope")).unwrap();
    let later = view.json(&cookie);
    assert_eq!(
        shown(&later),
        [pair("", "new.nodescope"), expected[0].clone(), expected[2].clone()]
    );
    assert_eq!(later["recordings"][1]["id"], list["recordings"][0]["id"]);
    for row in later["recordings"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        let answer = view.ask(&format!("/recording/{id}"), &[("Cookie", &cookie)]);
        assert_eq!(answer.status, 200, "{row}: {}", answer.text());
        assert!(answer.body.starts_with(b"nodescop"), "{row}");
    }
    let gone = list["recordings"][1]["id"].as_str().unwrap();
    is_refused(&view.ask(&format!("/recording/{gone}"), &[("Cookie", &cookie)]), 404);
}

const GROWING: &[u8] = include_bytes!("../../profile/tests/sample/growing.nodescope.part");

#[test]
fn every_kind_of_recording_is_served_as_ours() {
    let scratch = Scratch::new("view-kinds");
    let part = scratch.path("cut.nodescope.part");
    let whole = fs::read(input("perf-data-pipe")).unwrap();
    fs::write(&part, &whole[..whole.len() * 3 / 4]).unwrap();
    // A recording by the inspector, which ends in the middle of a chunk.
    scratch.file("growing.nodescope.part", &GROWING[..GROWING.len() - 20]);
    let cpuprofile = scratch.path("a.cpuprofile");
    program::succeeds(&["export", &input("node22-gc"), "-o", &cpuprofile]);
    let folded = scratch.path("a.folded");
    program::succeeds(&["export", &input("node22-gc"), "-o", &folded]);
    let view = View::start(&[&scratch.path(""), &input("perf-data-file")]);
    let cookie = view.enter();
    let list = view.json(&cookie);
    let rows = list["recordings"].as_array().unwrap();
    assert_eq!(rows.len(), 5, "{list}");
    for row in rows {
        let answer = view
            .ask(&format!("/recording/{}", row["id"].as_str().unwrap()), &[("Cookie", &cookie)]);
        assert_eq!(answer.status, 200, "{row}: {}", answer.text());
        // One chunk, up to the end of the file: what was cut off is joined before it is served.
        let length = u64::from_le_bytes(answer.body[24..32].try_into().unwrap());
        assert_eq!(
            (&answer.body[..8], length),
            (b"nodescop".as_slice(), answer.body.len() as u64 - 40),
            "{row}"
        );
    }
}

#[test]
fn damage_is_reported_in_a_sentence() {
    let scratch = Scratch::new("view-damage");
    let mut damaged = recording();
    let last = damaged.len() - 1;
    damaged[last] ^= 0xff;
    scratch.file("damaged.nodescope", &damaged);
    scratch.file("nonsense.cpuprofile", b"\x00\x01\x02");
    let view = View::start(&[&scratch.path("")]);
    let cookie = view.enter();
    let list = view.json(&cookie);
    let rows = list["recordings"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let answer = view
            .ask(&format!("/recording/{}", row["id"].as_str().unwrap()), &[("Cookie", &cookie)]);
        assert_eq!(answer.status, 422, "{row}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        let text = answer.text();
        let expected =
            if row["name"] == "damaged.nodescope" { "checksum" } else { "does not look like" };
        assert!(text.contains(expected) && text.trim_end().lines().count() == 1, "{text}");
    }
}

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/demo/recording.nodescope");

#[test]
fn a_list_shows_what_each_recording_is_about() {
    let scratch = Scratch::new("view-gists");
    let mut damaged = recording();
    let last = damaged.len() - 1;
    damaged[last] ^= 0xff;
    scratch.file("damaged.nodescope", &damaged);
    scratch.file("http.txt.gz", &fs::read(input("node22-http")).unwrap());
    fs::copy(DEMO, scratch.path("demo.nodescope")).unwrap();
    // Sparse: it takes no room, and only its size is looked at.
    File::create(scratch.path("large.nodescope")).unwrap().set_len(100 << 20).unwrap();
    let view = View::start(&[&scratch.path("")]);
    let cookie = view.enter();
    let ask = |target: &str| -> Value {
        let answer = view.ask(target, &[("Cookie", &cookie)]);
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    };
    let list = view.json(&cookie);
    assert_eq!(list["places"], serde_json::json!([scratch.path("")]));
    assert_eq!(ask("/gists.json"), serde_json::json!({}), "nothing has been read");
    let rows = list["recordings"].as_array().unwrap();
    let mut gists = serde_json::Map::new();
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let gist = ask(&format!("/recording/{id}/gist.json"));
        gists.insert(row["name"].as_str().unwrap().to_owned(), gist);
    }
    let report = program::succeeds(&["report", DEMO, "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let demo = &gists["demo.nodescope"]["gist"];
    assert_eq!(demo["service"], report["processes"][0]["app"]);
    assert_eq!(demo["finding"], report["findings"][0]["text"][0]);
    assert_eq!(demo["cores"]["value"], report["cores_busy"]);
    assert_eq!(demo["length"]["value"], report["duration_s"]);
    assert_eq!(demo["worst_stall"]["value"], report["stalls"][0]["duration_s"]);
    assert_eq!(demo["gc"]["value"], report["gc"]["loops"][0]["of_time"]);
    let http = &gists["http.txt.gz"]["gist"];
    assert_eq!(http["worst_stall"], Value::Null, "no loop was watched");
    assert_eq!(http["stands_out"], false);
    let problem = gists["damaged.nodescope"]["problem"].as_str().unwrap();
    assert!(problem.contains("checksum") && !problem.contains(&scratch.path("")), "{problem}");
    assert_eq!(gists["large.nodescope"]["unread"], "104 MB: it is read when you open it");
    // Those that were read are known; a file that has changed is not.
    assert_eq!(ask("/gists.json").as_object().unwrap().len(), 3);
    scratch.file("damaged.nodescope", &damaged[..100]);
    assert_eq!(ask("/gists.json").as_object().unwrap().len(), 2);
}

#[test]
fn a_list_that_has_not_changed_is_not_sent_again() {
    let scratch = Scratch::new("view-unchanged");
    scratch.file("a.folded", b"a;b 3\n");
    let view = View::start(&[&scratch.path("")]);
    let cookie = view.enter();
    let ask =
        |mark: &str| view.ask("/recordings.json", &[("Cookie", &cookie), ("If-None-Match", mark)]);
    let first = ask("");
    let mark = first.header("etag").unwrap().to_owned();
    let second = ask(&mark);
    assert_eq!((first.status, second.status, second.body.len()), (200, 304, 0));
    scratch.file("b.folded", b"a;b 3\n");
    let third = ask(&mark);
    assert_eq!(third.status, 200);
    scratch.file("b.folded", b"a;b 3\na;c 4\n");
    assert_eq!(ask(third.header("etag").unwrap()).status, 200, "a file that grows is a change");
}

#[test]
fn a_changed_file_is_read_again() {
    let scratch = Scratch::new("view-changed");
    let file = scratch.file("a.folded", b"a;b 3\n");
    let view = View::start(&[&file]);
    let cookie = view.enter();
    let first = view.ask("/recording/1", &[("Cookie", &cookie)]).body;
    scratch.file("a.folded", b"a;b 3\na;other 40\n");
    let second = view.ask("/recording/1", &[("Cookie", &cookie)]).body;
    assert_ne!(first, second);
}

#[test]
fn two_files_are_compared_and_stdin_is_a_file() {
    let (before, after) = (input("node22-gc"), input("node22-http"));
    let view = View::start(&[&before, &after]);
    let cookie = view.enter();
    let list = view.json(&cookie);
    let names: Vec<&str> = list["recordings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["folder"].as_str().unwrap())
        .collect();
    assert!(names[0].ends_with("node22-gc") && names[1].ends_with("node22-http"), "{list}");
    let ids: Vec<Value> =
        list["recordings"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(list["open"], Value::Array(ids));
    let mut command = nodescope(&["view", "--no-browser", "-"]);
    command.stdin(File::open(&before).unwrap());
    let view = View::start_as(command);
    let cookie = view.enter();
    let list = view.json(&cookie);
    assert_eq!(list["recordings"][0]["name"], "stdin");
    assert_eq!(view.ask("/recording/1", &[("Cookie", &cookie)]).body, recording());
}

#[test]
fn sources_are_shown_only_when_they_are_scripts() {
    let scratch = Scratch::new("view-sources");
    let secret = scratch.file("secret", b"password\n");
    let script = scratch.file("app.js", "// größer\nfunction hot() {}\n".as_bytes());
    let link = scratch.path("link.js");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let good_link = scratch.path("good.mjs");
    std::os::unix::fs::symlink(&script, &good_link).unwrap();
    fs::create_dir(scratch.path("folder.js")).unwrap();
    let large = scratch.file("large.js", &vec![b'a'; (4 << 20) + 1]);
    let paths = [
        script.clone(),
        good_link,
        format!("file://{script}"),
        secret,
        link,
        scratch.path("folder.js"),
        large,
        scratch.path("gone.js"),
        "node:fs".into(),
        "/etc/passwd".into(),
        "app.js".into(),
    ];
    let nodes: Vec<Value> = paths
        .iter()
        .enumerate()
        .map(|(row, path)| {
            serde_json::json!({"id": row + 2, "callFrame": {"functionName": format!("f{row}"), "scriptId": "1", "url": path, "lineNumber": 1, "columnNumber": 0}})
        })
        .collect();
    let ids: Vec<usize> = (2..paths.len() + 2).collect();
    let root = serde_json::json!({"id": 1, "callFrame": {"functionName": "(root)", "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1}, "children": ids});
    let all: Vec<Value> = std::iter::once(root).chain(nodes).collect();
    let profile = serde_json::json!({"nodes": all, "startTime": 0, "endTime": 100_000, "samples": ids, "timeDeltas": vec![1000; ids.len()]});
    let file = scratch.file("a.cpuprofile", profile.to_string().as_bytes());
    let view = View::start(&[&file]);
    let cookie = view.enter();
    let mut shown = Vec::new();
    for row in 0..paths.len() {
        let answer = view.ask(&format!("/recording/1/source/{row}"), &[("Cookie", &cookie)]);
        match answer.status {
            200 => {
                assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
                assert_eq!(answer.text(), "// größer\nfunction hot() {}\n");
                shown.push(row);
            }
            _ => {
                is_refused(&answer, 404);
                assert!(!answer.text().contains("password"));
            }
        }
    }
    // The script and its URL are one file.
    assert_eq!(shown.len(), 2, "the script and the link to it: {shown:?}");
    is_refused(&view.ask("/recording/1/source/0", &[]), 403);
    // Editors open what is shown, and what is too large for that.
    let places: Vec<String> = (0..paths.len())
        .map(|row| view.ask(&format!("/recording/1/place/{row}"), &[("Cookie", &cookie)]))
        .filter(|answer| answer.status == 200)
        .map(|answer| answer.text())
        .collect();
    assert_eq!(places.len(), 3, "{places:?}");
    assert!(places.contains(&script) && !places.contains(&paths[3]), "{places:?}");
}

/// What ran below /app is in a folder here; nothing that links lead out of it to is shown.
#[test]
fn sources_of_another_machine_are_found_below_a_folder() {
    let scratch = Scratch::new("view-folder");
    fs::create_dir(scratch.path("checkout")).unwrap();
    let script = scratch.file("checkout/shop.js", b"function hot() {}\n");
    let outside = scratch.file("outside.js", b"password\n");
    std::os::unix::fs::symlink(outside, scratch.path("checkout/link.js")).unwrap();
    let node = |id: u32, path: &str| serde_json::json!({"id": id, "callFrame": {"functionName": format!("f{id}"), "scriptId": "1", "url": path, "lineNumber": 0, "columnNumber": 0}});
    let mut root = node(1, "");
    root["children"] = serde_json::json!([2, 3]);
    let nodes = [root, node(2, "/app/shop.js"), node(3, "/app/link.js")];
    let profile = serde_json::json!({"nodes": nodes, "startTime": 0, "endTime": 9000, "samples": [2, 3], "timeDeltas": [1000, 1000]});
    let file = scratch.file("a.cpuprofile", profile.to_string().as_bytes());
    let folder = format!("/app={}", scratch.path("checkout"));
    let view = View::start(&[&file, "--sources", &folder]);
    let cookie = view.enter();
    let ask = |what: &str, row: usize| {
        view.ask(&format!("/recording/1/{what}/{row}"), &[("Cookie", &cookie)])
    };
    let of = |what: &str| -> Vec<String> {
        let answers = (0..2).map(|row| ask(what, row)).filter(|answer| answer.status == 200);
        answers.map(|answer| answer.text()).collect()
    };
    assert_eq!(of("source"), ["function hot() {}\n"]);
    let real = fs::canonicalize(&script).unwrap();
    assert_eq!(of("place"), [real.to_str().unwrap()]);
}

#[test]
fn it_ends_quietly() {
    for signal in ["-INT", "-TERM"] {
        let view = View::start(&[&input("node22-gc")]);
        let (status, messages) = view.end(signal);
        assert_eq!(status, Some(0), "{signal}: {messages}");
        assert_eq!(messages.lines().count(), 1, "{messages}");
        assert!(messages.contains("Ctrl-C"), "{messages}");
    }
}

#[test]
fn over_ssh_it_prints_how_to_get_there() {
    let mut command = nodescope(&["view", "--no-browser", &input("node22-gc")]);
    command.env("SSH_CONNECTION", "192.0.2.7 50000 192.0.2.8 2222").env("USER", "ada");
    let view = View::start_as(command);
    let port = view.port;
    let (_, messages) = view.end("-INT");
    assert!(
        messages.contains(&format!("ssh -L {port}:127.0.0.1:{port} -p 2222 ada@192.0.2.8")),
        "{messages}"
    );
    assert!(messages.contains("export") && messages.contains("page.html"), "{messages}");
}

#[test]
fn the_browser_gets_the_address() {
    let scratch = Scratch::new("view-browser");
    let browser = scratch.file(
        "browser",
        format!("#!/bin/sh\nprintf %s \"$1\" > {}\n", scratch.path("asked.tmp")).as_bytes(),
    );
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = nodescope(&["view", &input("node22-gc")]);
    command.env("BROWSER", &browser).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let asked = loop {
        let text = fs::read_to_string(scratch.path("asked.tmp")).unwrap_or_default();
        if !text.is_empty() {
            break text;
        }
        assert!(Instant::now() < deadline, "{line}");
        std::thread::sleep(Duration::from_millis(20));
    };
    child.kill().unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.wait().unwrap();
    assert!(line.contains(&asked) && asked.starts_with("http://127.0.0.1:"), "{line} {asked}");
    assert_eq!(out, "", "the address is on stdout only for scripts");
}

#[test]
fn what_cannot_be_shown_is_refused_before_it_starts() {
    let scratch = Scratch::new("view-refused");
    let empty = scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    let text = scratch.file("notes.md", b"# this is no recording\n");
    fails(&["view", &scratch.path("gone")], 1, "there is no file", "record");
    fails(&["view", &empty], 1, "there is no recording in", "record");
    fails(&["view", &text], 1, "does not look like any recording", "nodescope reads");
    fails(
        &["view", &input("node22-gc"), &text],
        1,
        "does not look like any recording",
        "nodescope reads",
    );
    fails(&["view", "-", "-"], 2, "cannot be given twice", "only one");
    fails(&["view", "--port", "0", &text], 2, "0", "");
    let page = scratch.path("page.html");
    program::succeeds(&["export", &input("node22-gc"), "-o", &page]);
    fails(&["view", &page], 1, "page.html", "opens in a browser by itself");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    fails(&["view", &input("node22-gc"), "--port", &port], 1, "is taken", "leave out --port");
    let mut here = nodescope(&["view"]);
    let output = here.current_dir(&empty).output().unwrap();
    assert!(
        stderr(&output).contains("there is no recording in this folder"),
        "{}",
        stderr(&output)
    );
}

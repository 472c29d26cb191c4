//! Servers that answer well, badly, without an end or not at all: each answer is read within its limits, or refused.

#![cfg(unix)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use http::{Answer, Connection, Error, Limits, Request};

/// Nothing here waits for it but for answers that never end.
const LIMITS: Limits = Limits { time: Duration::from_secs(20), head_bytes: 1000, body_bytes: 2000 };
const SHORT: Limits = Limits { time: Duration::from_millis(200), ..LIMITS };
const ASKED: Request<'static> =
    Request { method: "GET", path: "/", host: "localhost", fields: &[], body: None };

/// Asks a server that answers this, and then ends the connection or waits until the client does.
fn ask(answer: &[u8], ends: bool, limits: &Limits) -> Result<Answer, Error> {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let answer = answer.to_vec();
    let server = thread::spawn(move || {
        theirs.read_exact(&mut vec![0; ASKED.text().len()]).unwrap();
        // A client that has had enough ends the connection.
        let _ = theirs.write_all(&answer);
        if !ends {
            let _ = theirs.read_to_end(&mut Vec::new());
        }
    });
    let answer = Connection::new(ours).ask(&ASKED, limits);
    server.join().unwrap();
    answer
}

fn body(answer: &str, ends: bool) -> Option<String> {
    ask(answer.as_bytes(), ends, &LIMITS).ok().map(|answer| String::from_utf8(answer.body).unwrap())
}

#[test]
fn bodies_of_every_kind_come_whole() {
    let text = |body: &str| Some(body.to_owned());
    assert_eq!(body("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", false), text("abc"));
    assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nabc", true), text("abc"));
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    assert_eq!(body(chunked, false), text("abc"));
    assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n", false), text(""));
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    assert_eq!(
        body(&format!("{interim}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"), false),
        text("a")
    );
    let missing =
        ask(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}", false, &LIMITS).unwrap();
    assert_eq!((missing.head.status, missing.head.line.as_str()), (404, "HTTP/1.1 404 Not Found"));
}

#[test]
fn an_early_end_is_no_answer() {
    for cut in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        let answer = ask(cut.as_bytes(), true, &LIMITS);
        assert!(matches!(answer, Err(Error::Ended)), "{cut}: {answer:?}");
    }
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let endless_head = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &[b'a'; 1 << 20]].concat();
    let many_fields = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(1000));
    let interims = "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
    for head in [endless_head.as_slice(), many_fields.as_bytes(), interims.as_bytes()] {
        let answer = ask(head, false, &LIMITS);
        assert!(matches!(answer, Err(Error::TooLong("head"))), "{answer:?}");
    }
    let endless_body = format!("HTTP/1.1 200 OK\r\n\r\n{}", "a".repeat(1 << 20));
    let endless_chunks = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        "1\r\na\r\n".repeat(10_000)
    );
    for answer in [
        endless_body.as_str(),
        &endless_chunks,
        "HTTP/1.1 200 OK\r\nContent-Length: 2001\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d1\r\n",
    ] {
        let found = ask(answer.as_bytes(), false, &LIMITS);
        assert!(matches!(found, Err(Error::TooLong("body"))), "{found:?}");
    }
}

#[test]
fn what_is_not_http_is_refused() {
    for wrong in [
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n",
    ] {
        let answer = ask(wrong.as_bytes(), false, &LIMITS);
        assert!(matches!(answer, Err(Error::Malformed(_))), "{wrong}: {answer:?}");
    }
}

#[test]
fn an_answer_that_does_not_end_is_not_waited_for() {
    for silent in [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
    ] {
        let answer = ask(silent.as_bytes(), false, &SHORT);
        assert!(matches!(answer, Err(Error::TooLate(_))), "{silent}: {answer:?}");
    }
    // A byte from time to time does not prolong it.
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        while theirs.write_all(b"a").is_ok() {
            thread::sleep(SHORT.time / 20);
        }
    });
    let start = Instant::now();
    assert!(matches!(
        Connection::new(ours).ask(&ASKED, &SHORT),
        Err(Error::TooLate(_) | Error::TooLong(_))
    ));
    assert!(start.elapsed() < LIMITS.time);
    server.join().unwrap();
}

#[test]
fn a_request_that_would_be_two_is_not_sent() {
    for wrong in [
        Request { path: "/a HTTP/1.1\r\nX: y\r\n", ..ASKED },
        Request { path: "", ..ASKED },
        Request { host: "a\nb", ..ASKED },
        Request { fields: &["X: y\r\n\r\nGET / HTTP/1.1"], ..ASKED },
    ] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let refused = Connection::new(ours).ask(&wrong, &LIMITS);
        assert!(matches!(refused, Err(Error::Io(_))), "{refused:?}");
        assert_eq!(theirs.read(&mut [0; 1]).unwrap(), 0, "nothing was sent");
    }
}

/// One answer after another, and what is sent.
#[test]
fn a_connection_stays_open() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let request =
        Request { method: "POST", path: "/a?b", fields: &["X: y"], body: Some("é"), ..ASKED };
    let wanted = "POST /a?b HTTP/1.1\r\nHost: localhost\r\nX: y\r\nContent-Length: 2\r\n\r\né";
    assert_eq!(request.text(), wanted);
    let server = thread::spawn(move || {
        let mut asked = vec![0; wanted.len() * 2];
        theirs.read_exact(&mut asked[..wanted.len()]).unwrap();
        theirs
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 200 OK\r\n")
            .unwrap();
        theirs.read_exact(&mut asked[wanted.len()..]).unwrap();
        theirs.write_all(b"Content-Length: 3\r\n\r\ntwo").unwrap();
        String::from_utf8(asked).unwrap()
    });
    let mut connection = Connection::new(ours);
    let bodies = [0, 1].map(|_| connection.ask(&request, &LIMITS).unwrap().body);
    assert_eq!(bodies, [b"one", b"two"]);
    assert_eq!(server.join().unwrap(), wanted.repeat(2));
}

#[test]
fn another_protocol_begins_behind_the_head() {
    let asked = |answer: &'static [u8]| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(answer).unwrap();
        Connection::new(ours).upgrade(&ASKED, &LIMITS).unwrap().map(|(_, read)| read)
    };
    assert_eq!(
        asked(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nfirst"),
        Ok(b"first".to_vec())
    );
    assert!(asked(b"HTTP/1.1 400 Bad Request\r\n\r\n").is_err_and(|head| head.status == 400));
}

//! Which requests are answered. Pages of other sites can make a browser ask us (Host, Origin and Sec-Fetch-Site show
//! it), and other users of this machine can ask us themselves (the code and the cookie show it). A client without the
//! cookie learns nothing, not even which requests have an answer.

use std::io;
use std::sync::{Mutex, PoisonError};

use crate::http::{Request, Response};
use crate::secret::Secret;

/// Names by which a machine calls itself. Any port may follow: behind a tunnel it is another one than ours.
const OWN_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

const NO_COOKIE: &str =
    "This needs the address that nodescope printed when it started: open that one.";
const CODE_USED: &str = "This address has been used: it works once. Use the tab that it opened first, or end nodescope \
                         view and run it again.";
const OTHER_USER: &str = "This address is for the user who runs nodescope.";
const OTHER_PAGE: &str = "Another page led here, so nothing is shown: paste the address that nodescope printed into the \
                          address bar.";
const OTHER_NAME: &str = "nodescope answers to 127.0.0.1, localhost and [::1] only.";

/// The secrets of one server.
pub(crate) struct Gate {
    /// Until it has been used.
    code: Mutex<Option<Secret>>,
    cookie: Secret,
    /// Browsers share cookies among all ports of a machine: two servers must not have the same name for theirs.
    cookie_name: String,
}

impl Gate {
    /// A closed gate, and the code that opens it once.
    pub(crate) fn new() -> io::Result<(Self, Secret)> {
        let code = Secret::new()?;
        let cookie_name = format!("nodescope-{}", &Secret::new()?.text()[..12]);
        let gate =
            Self { code: Mutex::new(Some(code.clone())), cookie: Secret::new()?, cookie_name };
        Ok((gate, code))
    }

    /// Lets a request pass, or gives what to answer instead. `is_stranger` checks whether another user's program asks.
    pub(crate) fn check(
        &self,
        request: &Request,
        is_stranger: impl FnOnce() -> bool,
    ) -> Result<(), Response> {
        let refuse = |sentence| Err(Response::sentence(403, sentence));
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Err(Response::sentence(405, "only GET and HEAD are answered")
                .with("Allow", "GET, HEAD"));
        }
        let Some(host) = own_host(request) else { return refuse(OTHER_NAME) };
        if !is_from_here(request, host) {
            return refuse(OTHER_PAGE);
        }
        let has_cookie = self.has_cookie(request);
        match code_of(request) {
            None if has_cookie => Ok(()),
            None => refuse(NO_COOKIE),
            // The user has the cookie already, and pastes the address once more.
            Some(_) if has_cookie => Err(home()),
            Some(_) if is_stranger() => refuse(OTHER_USER),
            Some(code) if request.method == "GET" && self.take(code) => {
                let cookie = format!(
                    "{}={}; Path=/; HttpOnly; SameSite=Strict",
                    self.cookie_name,
                    self.cookie.text()
                );
                Err(home().with("Set-Cookie", cookie))
            }
            Some(_) if self.is_used() => refuse(CODE_USED),
            Some(_) => refuse(NO_COOKIE),
        }
    }

    /// Whether the code is right, for the first time.
    fn take(&self, guess: &str) -> bool {
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = code.as_ref().is_some_and(|code| code.is(guess));
        if is_right {
            *code = None;
        }
        is_right
    }

    fn is_used(&self) -> bool {
        self.code.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn has_cookie(&self, request: &Request) -> bool {
        let pairs = request.all("cookie").flat_map(|cookies| cookies.split(';'));
        pairs
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(name, value)| name == self.cookie_name && self.cookie.is(value))
    }
}

/// To the page itself, without the code.
fn home() -> Response {
    Response::sentence(303, "").with("Location", "/")
}

/// The code in `/?code=…`.
fn code_of(request: &Request) -> Option<&str> {
    request.query.as_deref().filter(|_| request.path == "/")?.strip_prefix("code=")
}

/// The one Host, if it is a name for this machine: a name that another owner's DNS leads here is not.
fn own_host(request: &Request) -> Option<&str> {
    let mut hosts = request.all("host");
    let host = hosts.next().filter(|_| hosts.next().is_none())?;
    let is_own = OWN_NAMES.iter().any(|name| {
        let (start, port) = host.split_at_checked(name.len()).unwrap_or(("", ""));
        start.eq_ignore_ascii_case(name) && (port.is_empty() || is_port(port))
    });
    is_own.then_some(host)
}

/// `:8080`
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| {
        (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether no other page has made the browser ask. A page of another port of this machine is another page, too.
fn is_from_here(request: &Request, host: &str) -> bool {
    let is_own = |origin: &str| {
        origin.strip_prefix("http://").is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    };
    request.all("origin").all(is_own)
        && request.all("sec-fetch-site").all(|site| matches!(site, "same-origin" | "none"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::http::parse;

    fn asked(target: &str, headers: &[(&str, &str)]) -> Request {
        let lines: String =
            headers.iter().map(|(name, value)| format!("\r\n{name}: {value}")).collect();
        parse(format!("GET {target} HTTP/1.1{lines}").as_bytes()).unwrap()
    }

    fn status(gate: &Gate, request: &Request) -> u16 {
        gate.check(request, || false).map_or_else(|refused| refused.status, |()| 200)
    }

    #[test]
    fn names_of_this_machine_with_any_port() {
        for host in
            ["127.0.0.1", "127.0.0.1:1", "localhost:65535", "LOCALHOST:80", "[::1]", "[::1]:8080"]
        {
            assert!(own_host(&asked("/", &[("host", host)])).is_some(), "{host}");
        }
        for host in [
            "",
            "evil.com",
            "127.0.0.1.evil.com",
            "localhost.evil.com",
            "127.0.0.1:",
            "127.0.0.1:123456",
            "127.0.0.1:80a",
            "127.0.0.1@evil.com",
            "evil.com:127.0.0.1",
            "127.0.0.2",
            "0.0.0.0",
            "[::1",
            "::1",
            "localhost:80:80",
            "xlocalhost",
            "127.1",
            "2130706433",
        ] {
            assert!(own_host(&asked("/", &[("host", host)])).is_none(), "{host}");
        }
        assert!(own_host(&asked("/", &[])).is_none());
        assert!(own_host(&asked("/", &[("host", "localhost"), ("host", "localhost")])).is_none());
    }

    #[test]
    fn origins_are_this_very_server() {
        let host = ("host", "localhost:80");
        for origin in ["http://localhost:80", "http://LOCALHOST:80"] {
            assert!(is_from_here(&asked("/", &[host, ("origin", origin)]), host.1), "{origin}");
        }
        for origin in [
            "",
            "null",
            "https://localhost:80",
            "http://localhost",
            "http://localhost:81",
            "http://evil.com",
        ] {
            assert!(!is_from_here(&asked("/", &[host, ("origin", origin)]), host.1), "{origin}");
        }
        for (site, is_good) in
            [("none", true), ("same-origin", true), ("same-site", false), ("cross-site", false)]
        {
            assert_eq!(
                is_from_here(&asked("/", &[host, ("sec-fetch-site", site)]), host.1),
                is_good,
                "{site}"
            );
        }
    }

    #[test]
    fn the_code_works_once_and_the_cookie_always() {
        let (gate, code) = Gate::new().unwrap();
        let host = ("host", "127.0.0.1:80");
        let with_code = format!("/?code={}", code.text());
        assert_eq!(status(&gate, &asked("/", &[host])), 403);
        assert_eq!(status(&gate, &asked("/?code=guess", &[host])), 403);
        assert_eq!(status(&gate, &asked(&format!("/x?code={}", code.text()), &[host])), 403);
        // Neither a stranger nor another page can use it up.
        assert_eq!(gate.check(&asked(&with_code, &[host]), || true).unwrap_err().status, 403);
        assert_eq!(
            status(&gate, &asked(&with_code, &[host, ("sec-fetch-site", "cross-site")])),
            403
        );
        let opened = gate.check(&asked(&with_code, &[host]), || false).unwrap_err();
        assert_eq!(opened.status, 303);
        let (_, cookie) = opened.headers.iter().find(|(name, _)| *name == "Set-Cookie").unwrap();
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict")
                && !cookie.contains(code.text()),
            "{cookie}"
        );
        let (pair, _) = cookie.split_once(';').unwrap();
        let again = gate.check(&asked(&with_code, &[host]), || false).unwrap_err();
        assert_eq!((again.status, again.body.starts_with(CODE_USED.as_bytes())), (403, true));
        let both = format!("other=1; {pair};x=y");
        assert_eq!(status(&gate, &asked("/anything", &[host, ("cookie", &both)])), 200);
        assert_eq!(status(&gate, &asked(&with_code, &[host, ("cookie", pair)])), 303);
        assert_eq!(status(&gate, &asked("/", &[host, ("cookie", &pair.to_uppercase())])), 403);
        assert_eq!(status(&gate, &asked("/", &[host, ("cookie", &pair[..pair.len() - 1])])), 403);
    }
}

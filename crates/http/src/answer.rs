//! The head of an answer, and how long its body is.

use crate::error::Error;

/// The head of an answer: its first line and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// 200 where all is well.
    pub status: u16,
    /// The first line, `HTTP/1.1 200 OK`.
    pub line: String,
    fields: Vec<(String, String)>,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Bytes(usize),
    Chunked,
    UntilEnd,
}

impl Head {
    /// Parses a head, without the empty line behind it. A field that is not `name: value` makes it malformed.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let malformed = |what: &str| Error::Malformed(what.chars().take(80).collect());
        let mut words = line.splitn(3, ' ');
        let (version, status) =
            (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_status = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
        if !matches!(version, "HTTP/1.0" | "HTTP/1.1") || !is_status {
            return Err(malformed(&line));
        }
        let field = |line: &str| {
            let (name, value) = line.split_once(':').ok_or_else(|| malformed(line))?;
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
            if is_name {
                Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
            } else {
                Err(malformed(line))
            }
        };
        let fields = lines.map(field).collect::<Result<_, _>>()?;
        let status = status.parse().map_err(|_| malformed(&line))?;
        Ok(Self { status, line, fields })
    }

    /// The values of a field, whose name is in small letters.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// How the end of the body is found (RFC 9112, 6.3). An answer that gives it twice, and differently, is malformed.
    pub(crate) fn length(&self) -> Result<Length, Error> {
        if matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Length::Bytes(0));
        }
        let mut lengths: Vec<&str> = self.values("content-length").collect();
        lengths.dedup();
        let encodings: Vec<&str> = self.values("transfer-encoding").collect();
        match (&lengths[..], &encodings[..]) {
            ([], []) => Ok(Length::UntilEnd),
            ([], [encoding]) if encoding.eq_ignore_ascii_case("chunked") => Ok(Length::Chunked),
            ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => length
                .parse()
                .map(Length::Bytes)
                .map_err(|_| Error::Malformed(format!("length {length}"))),
            _ => Err(Error::Malformed("the length of its body".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(fields: &str) -> Option<Length> {
        Head::parse(format!("HTTP/1.1 200 OK{fields}").as_bytes()).ok()?.length().ok()
    }

    #[test]
    fn lengths() {
        assert_eq!(length(""), Some(Length::UntilEnd));
        assert_eq!(length("\r\nContent-Length: 12"), Some(Length::Bytes(12)));
        assert_eq!(length("\r\ncontent-LENGTH:12\r\nContent-Length: 12"), Some(Length::Bytes(12)));
        assert_eq!(length("\r\nTransfer-Encoding: Chunked"), Some(Length::Chunked));
        for wrong in [
            "Content-Length: -1",
            "Content-Length: +1",
            "Content-Length: 1, 1",
            "Content-Length: 0x10",
            "Content-Length:",
            "Content-Length: 99999999999999999999999",
            "Content-Length: 1\r\nContent-Length: 2",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "no field",
            ": no name",
            "a name: with a blank",
        ] {
            assert_eq!(length(&format!("\r\n{wrong}")), None, "{wrong}");
        }
    }

    #[test]
    fn first_lines() {
        let status = |line: &str| Head::parse(line.as_bytes()).ok().map(|head| head.status);
        assert_eq!(status("HTTP/1.0 404 Not Found"), Some(404));
        assert_eq!(status("HTTP/1.1 200"), Some(200));
        for wrong in
            ["", "SSH-2.0-OpenSSH", "HTTP/2 200 OK", "HTTP/1.1 2 OK", "HTTP/1.1 +20 OK", "HTTP/1.1"]
        {
            assert_eq!(status(wrong), None, "{wrong}");
        }
    }
}

//! The first line of a sample in `perf script` text:
//! `comm pid/tid [cpu] misc time-of-day time: period event: rest`, each part optional. Read from the time
//! stamp outwards, because the comm in front may hold blanks, digits and colons.

/// A sample's first line, or the line of another record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header<'a> {
    pub(super) thread: ThreadWords<'a>,
    pub(super) time_ns: Option<u64>,
    pub(super) period: Option<u64>,
    pub(super) event: &'a [u8],
    /// What follows the event: a frame of a sample without call chain, or a tracepoint's text.
    pub(super) rest: &'a [u8],
}

/// Who ran, as the line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ThreadWords<'a> {
    pub(super) comm: &'a [u8],
    pub(super) pid: Option<u32>,
    pub(super) tid: Option<u32>,
}

impl Header<'_> {
    /// The name of a record that is not a sample, such as PERF_RECORD_LOST.
    pub(super) fn record(&self) -> Option<&str> {
        let word = self.event.split(|byte| *byte == b' ').next()?;
        let name = std::str::from_utf8(word).ok()?;
        name.starts_with("PERF_RECORD_").then_some(name)
    }
}

/// Reads a sample's first line; `None` when it is not one.
pub(super) fn parse(line: &[u8]) -> Option<Header<'_>> {
    let line = line.trim_ascii_end();
    match find_time(line) {
        Some((start, end, time_ns)) => {
            let thread = parse_thread(&line[..start])?;
            let (period, event, rest) = parse_event(&line[end..]);
            Some(Header { thread, time_ns: Some(time_ns), period, event, rest })
        }
        None => parse_without_time(line),
    }
}

/// Splits a line whose first bytes are known (comm, ids, cpu) into its time and what follows; `None` when no
/// time stands right behind them.
pub(super) fn split_known<'a>(line: &'a [u8], known: &[u8]) -> Option<(u64, &'a [u8])> {
    let rest = line.strip_prefix(known)?;
    let colon = memchr::memchr(b':', &rest[..rest.len().min(LONGEST_TIME)])?;
    Some((parse_time(&rest[..colon])?, &rest[colon + 1..]))
}

/// Twenty digits of seconds, a point, nine digits and a colon.
const LONGEST_TIME: usize = 31;

/// Where the time of a line starts and ends.
pub(super) fn place_of_time(line: &[u8]) -> Option<(usize, usize)> {
    find_time(line).map(|(start, end, _)| (start, end))
}

/// Finds `seconds.micros:` or `seconds.nanos:`; returns where it starts, where it ends, and its value.
fn find_time(line: &[u8]) -> Option<(usize, usize, u64)> {
    memchr::memchr_iter(b':', line).find_map(|colon| {
        if line.get(colon + 1).is_some_and(|next| *next != b' ') {
            return None;
        }
        let start =
            line[..colon].iter().rposition(|byte| *byte == b' ').map_or(0, |blank| blank + 1);
        Some((start, colon + 1, parse_time(&line[start..colon])?))
    })
}

fn parse_time(word: &[u8]) -> Option<u64> {
    let dot = memchr::memchr(b'.', word)?;
    let (seconds, fraction) = (parse_number(&word[..dot])?, &word[dot + 1..]);
    let scale = match fraction.len() {
        6 => 1_000,
        9 => 1,
        _ => return None,
    };
    seconds.checked_mul(1_000_000_000)?.checked_add(parse_number(fraction)? * scale)
}

fn parse_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Reads `comm pid/tid [cpu] misc time-of-day` from its end.
fn parse_thread(words: &[u8]) -> Option<ThreadWords<'_>> {
    let mut left = words.trim_ascii();
    for is_wall_clock in [is_time_of_day, is_date] {
        if let Some((before, _)) = split_last(left).filter(|(_, word)| is_wall_clock(word)) {
            left = before;
        }
    }
    if let Some((before, word)) = split_last(left)
        && is_misc(word)
        && split_last(before).is_some_and(|(_, word)| is_cpu(word) || parse_ids(word).is_some())
    {
        left = before;
    }
    if let Some((before, _)) = split_last(left).filter(|(_, word)| is_cpu(word)) {
        left = before;
    }
    match split_last(left).and_then(|(comm, word)| Some((comm, parse_ids(word)?))) {
        Some((comm, (pid, tid))) => Some(ThreadWords { comm: without_machine(comm), pid, tid }),
        None if left.is_empty() => None,
        None => Some(ThreadWords { comm: without_machine(left), pid: None, tid: None }),
    }
}

/// The last word and what stands before it; `None` when there is only one word.
fn split_last(words: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = words.iter().rposition(|byte| *byte == b' ')?;
    Some((words[..blank].trim_ascii_end(), &words[blank + 1..]))
}

fn is_time_of_day(word: &[u8]) -> bool {
    word.len() > 8 && word[2] == b':' && word[5] == b':' && word[8] == b'.'
}

fn is_date(word: &[u8]) -> bool {
    word.len() == 10 && word[4] == b'-' && word[7] == b'-'
}

fn is_misc(word: &[u8]) -> bool {
    word.iter().all(|byte| b"KUHGgMESp".contains(byte))
}

fn is_cpu(word: &[u8]) -> bool {
    word.strip_prefix(b"[")
        .and_then(|word| word.strip_suffix(b"]"))
        .is_some_and(|cpu| parse_number(cpu).is_some())
}

/// `pid/tid`, or one number, which is the thread's. perf writes -1 for "not known".
fn parse_ids(word: &[u8]) -> Option<(Option<u32>, Option<u32>)> {
    let id = |digits: &[u8]| match digits {
        b"-1" => Some(None),
        _ => u32::try_from(parse_number(digits)?).ok().map(Some),
    };
    match memchr::memchr(b'/', word) {
        Some(slash) => Some((id(&word[..slash])?, id(&word[slash + 1..])?)),
        None => Some((None, id(word)?)),
    }
}

/// Drops `VM:12345 VCPU:001` in front of a guest's comm.
fn without_machine(mut comm: &[u8]) -> &[u8] {
    for prefix in [&b"VM:"[..], b"VCPU:"] {
        if let Some(rest) = comm.strip_prefix(prefix) {
            let rest = rest.trim_ascii_start();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            comm = rest[digits..].trim_ascii_start();
        }
    }
    comm.trim_ascii_end()
}

/// Reads `period event: rest`.
fn parse_event(words: &[u8]) -> (Option<u64>, &[u8], &[u8]) {
    let mut words = words.trim_ascii();
    let mut period = None;
    if let Some(blank) = memchr::memchr(b' ', words)
        && let Some(number) = parse_number(&words[..blank])
    {
        period = Some(number);
        words = words[blank..].trim_ascii_start();
    }
    if words.starts_with(b"PERF_RECORD_") {
        return (None, words, b"");
    }
    match event_end(words) {
        Some(end) => (period, &words[..end], words[end + 1..].trim_ascii_start()),
        None => (period, b"", words),
    }
}

/// Where an event's name ends: at the first colon with a blank or nothing behind it, in the first word.
fn event_end(words: &[u8]) -> Option<usize> {
    let word_end = memchr::memchr(b' ', words).unwrap_or(words.len());
    words[..word_end].ends_with(b":").then(|| word_end - 1)
}

/// perf of Linux 3.2 prints no time: `java 19983 cycles:`. The number before the event is a period only when
/// a thread id stands before it.
fn parse_without_time(line: &[u8]) -> Option<Header<'_>> {
    let colon = memchr::memchr_iter(b':', line).find(|colon| {
        line.get(colon + 1).is_none_or(|next| *next == b' ')
            && line[*colon - usize::from(*colon > 0)] != b' '
    })?;
    let (before, event) = split_last(&line[..colon])?;
    let rest = line.get(colon + 1..).unwrap_or_default().trim_ascii_start();
    if let Some((left, word)) = split_last(before)
        && let Some(period) = parse_number(word)
        && let Some(thread) = parse_thread(left).filter(|thread| thread.tid.is_some())
    {
        return Some(Header { thread, time_ns: None, period: Some(period), event, rest });
    }
    let thread =
        parse_thread(before).filter(|thread| thread.tid.is_some() && !thread.comm.is_empty())?;
    Some(Header { thread, time_ns: None, period: None, event, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// line → comm, pid, tid, time, period, event, rest
    type Row = (
        &'static str,
        &'static str,
        Option<u32>,
        Option<u32>,
        Option<u64>,
        Option<u64>,
        &'static str,
        &'static str,
    );

    const ROWS: &[Row] = &[
        ("java 19983 cycles: ", "java", None, Some(19983), None, None, "cycles", ""),
        (
            "V8 WorkerThread 25607 4794564.109216:     104345 cycles: ",
            "V8 WorkerThread",
            None,
            Some(25607),
            Some(4794564109216000),
            Some(104345),
            "cycles",
            "",
        ),
        (
            "java 24636/25607 [000] 4794564.109216: 1 cycles:",
            "java",
            Some(24636),
            Some(25607),
            Some(4794564109216000),
            Some(1),
            "cycles",
            "",
        ),
        (
            "java 12688 [002] 6544038.708352: cpu-clock: ",
            "java",
            None,
            Some(12688),
            Some(6544038708352000),
            None,
            "cpu-clock",
            "",
        ),
        (
            "api worker 3 4140/4140 [001]    12.500000:   10101010 cpu-clock:ppp: ",
            "api worker 3",
            Some(4140),
            Some(4140),
            Some(12500000000),
            Some(10101010),
            "cpu-clock:ppp",
            "",
        ),
        (
            "node 1 [001] 1.000000001: 5 cycles:u: ",
            "node",
            None,
            Some(1),
            Some(1000000001),
            Some(5),
            "cycles:u",
            "",
        ),
        (
            "a:b 1: c  77/78    [003] U     9.000001: cycles:",
            "a:b 1: c",
            Some(77),
            Some(78),
            Some(9000001000),
            None,
            "cycles",
            "",
        ),
        (
            "node 12/13 [000] 09:22:33.123456    7.000000: 1 cpu-clock:",
            "node",
            Some(12),
            Some(13),
            Some(7000000000),
            Some(1),
            "cpu-clock",
            "",
        ),
        (
            "libuv-worker 13339 2026-11-15 09:45:30.123456 77.000000: 1 cpu-clock:",
            "libuv-worker",
            None,
            Some(13339),
            Some(77000000000),
            Some(1),
            "cpu-clock",
            "",
        ),
        (
            "VM: 3001 VCPU:001 qemu 12 [000] 7.000000: 1 cycles:",
            "qemu",
            None,
            Some(12),
            Some(7000000000),
            Some(1),
            "cycles",
            "",
        ),
        (
            "            node  4140 [000]     7.000000:     250000 cpu-clock:  ffffffff81 foo+0x1 ([kernel.kallsyms])",
            "node",
            None,
            Some(4140),
            Some(7000000000),
            Some(250000),
            "cpu-clock",
            "ffffffff81 foo+0x1 ([kernel.kallsyms])",
        ),
        (
            "node 5 [001] 7.000000: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b: c",
            "node",
            None,
            Some(5),
            Some(7000000000),
            None,
            "sched:sched_switch",
            "prev_comm=a prev_pid=1 ==> next_comm=b: c",
        ),
        (
            ":-1 -1/-1 [001] 7.000000: 1 cycles:",
            ":-1",
            None,
            None,
            Some(7000000000),
            Some(1),
            "cycles",
            "",
        ),
        (
            "swapper     0 [003] 7.000000: 1 cycles:",
            "swapper",
            None,
            Some(0),
            Some(7000000000),
            Some(1),
            "cycles",
            "",
        ),
        ("java 19983 [001] 250 cycles:", "java", None, Some(19983), None, Some(250), "cycles", ""),
        ("node 7 12.000000: ", "node", None, Some(7), Some(12000000000), None, "", ""),
    ];

    #[test]
    fn header_variants() {
        for &(line, comm, pid, tid, time_ns, period, event, rest) in ROWS {
            let expected = Header {
                thread: ThreadWords { comm: comm.as_bytes(), pid, tid },
                time_ns,
                period,
                event: event.as_bytes(),
                rest: rest.as_bytes(),
            };
            assert_eq!(parse(line.as_bytes()), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_records_are_distinguished() {
        let line = b"node 12/12 [000] 7.000000: PERF_RECORD_MMAP2 12/12: [0x40(0x10) @ 0 08:01 1 1]: r-xp /usr/bin/node";
        assert_eq!(parse(line).unwrap().record(), Some("PERF_RECORD_MMAP2"));
    }

    #[test]
    fn what_is_no_header() {
        for line in [
            "",
            " ",
            ":",
            "hello",
            "node;main;foo 12",
            "  file.cpp:137",
            "Warning: something",
            "99999999999999999999999.000000: x",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}

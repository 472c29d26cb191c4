//! Records as perf writes them, in this machine's byte order.

use sys::perf::Attribute;

/// What a record is; the kernel's numbers below 64, perf's own above.
pub(crate) mod kind {
    pub(crate) use trace::own_records::*;

    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const SWITCH: u32 = 14;
    pub(crate) const SWITCH_CPU_WIDE: u32 = 15;
    pub(crate) const ATTRIBUTE: u32 = 64;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const FEATURE: u32 = 80;
}

/// User code, in a record's flags.
pub(crate) const MISC_USER: u16 = 2;

/// What fits into a record.
const MOST_IDS: usize = 8000;

/// A record's header.
pub(crate) const HEADER_BYTES: usize = 8;

/// The first sixteen bytes of the pipe form.
fn magic() -> Vec<u8> {
    let mut bytes = 0x3245_4c49_4652_4550u64.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&16u64.to_ne_bytes());
    bytes
}

/// A record, filled up to eight bytes.
pub(crate) fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + body.len()).next_multiple_of(8);
    // What does not fit a record is a path of 64 KB.
    let size = u16::try_from(length).unwrap_or(0);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&misc.to_ne_bytes());
    bytes.extend_from_slice(&size.to_ne_bytes());
    bytes.extend_from_slice(body);
    bytes.resize(length, 0);
    if size == 0 { Vec::new() } else { bytes }
}

/// The event, and the numbers that its samples carry.
pub(crate) fn attribute(attribute: &Attribute, ids: &[u64]) -> Vec<u8> {
    let mut body = attribute.to_bytes();
    // A record has 64 KB. Samples of an id that did not fit are taken for the first event's.
    for id in ids.iter().take(MOST_IDS) {
        body.extend_from_slice(&id.to_ne_bytes());
    }
    record(kind::ATTRIBUTE, 0, &body)
}

/// A text of the machine: its name, its release, its architecture.
pub(crate) fn feature_text(number: u64, text: &str) -> Vec<u8> {
    let length = (text.len() + 1).next_multiple_of(8);
    let mut body = number.to_ne_bytes().to_vec();
    body.extend_from_slice(&(length as u32).to_ne_bytes());
    body.extend_from_slice(text.as_bytes());
    body.resize(8 + 4 + length, 0);
    record(kind::FEATURE, 0, &body)
}

/// Wall clock and CLOCK_MONOTONIC at one moment.
pub(crate) fn feature_clock(wall_ns: u64, monotonic_ns: u64) -> Vec<u8> {
    let mut body = 29u64.to_ne_bytes().to_vec();
    for number in [1u32, 1u32] {
        body.extend_from_slice(&number.to_ne_bytes());
    }
    for number in [wall_ns, monotonic_ns] {
        body.extend_from_slice(&number.to_ne_bytes());
    }
    record(kind::FEATURE, 0, &body)
}

/// What an event is called.
pub(crate) fn event_name(id: u64, name: &str) -> Vec<u8> {
    const NAME: u64 = 2;
    let mut body = [NAME.to_ne_bytes(), id.to_ne_bytes()].concat();
    body.extend_from_slice(name.as_bytes());
    body.push(0);
    record(kind::EVENT_UPDATE, 0, &body)
}

/// Records of our own, which perf does not have.
pub mod own {
    use trace::{
        Context, CpuTime, Cut, Delay, Facts, FrameName, JavaScript, LoopWatch, Loss, PoolUse,
        Sample, Script, Second, ShortWaits, Turn, TurnKind, javascript,
    };

    use super::{MISC_USER, kind, record};

    /// Longer than a path may be.
    const LONGEST_FACT: usize = 4096;

    /// What is known of a process.
    pub fn facts(facts: &Facts<'_>) -> Vec<u8> {
        let mut body = [facts.pid.to_ne_bytes(), facts.inner_pid.to_ne_bytes()].concat();
        let Facts { container, node_version, app, command, folder, .. } = *facts;
        let Facts { ports, unnamed, parent, .. } = *facts;
        for text in [container, node_version, app, command, folder, ports, unnamed, parent] {
            // A record is below 64 KiB, and a text ends with its first zero.
            let text = &text[..text.len().min(LONGEST_FACT)];
            body.extend(text.iter().filter(|byte| **byte != 0));
            body.push(0);
        }
        record(kind::FACTS, 0, &body)
    }

    /// Stands for a number that is not known.
    const UNKNOWN: u64 = u64::MAX;

    /// What is known of an event loop so far.
    pub fn loop_watch(watch: &LoopWatch<'_>) -> Vec<u8> {
        let (polled_ns, turns) =
            (watch.polled_ns.unwrap_or(UNKNOWN), watch.turns.unwrap_or(UNKNOWN));
        let mut body =
            numbers(watch.pid, watch.tid, &[watch.start_ns, watch.end_ns, polled_ns, turns]);
        body.extend_from_slice(watch.problem);
        body.push(0);
        record(kind::LOOP_WATCH, 0, &body)
    }

    /// A stretch of an event loop's time.
    pub fn turn(turn: &Turn) -> Vec<u8> {
        let throttled_ns = turn.throttled_ns.unwrap_or(UNKNOWN);
        let Turn { start_ns, end_ns, turns, run_ns, ready_ns, .. } = *turn;
        let kind = match turn.kind {
            TurnKind::Turn => 0,
            TurnKind::Startup => 1,
            TurnKind::Stopped => 2,
            TurnKind::Quick => 3,
        };
        let words = [start_ns, end_ns, turns, run_ns, ready_ns, throttled_ns];
        record(kind::TURN, kind, &numbers(turn.pid, turn.tid, &words))
    }

    /// What the kernel counted in a piece of time.
    pub fn second(second: &Second) -> Vec<u8> {
        let known = [
            second.periods,
            second.throttled_periods,
            second.throttled_ns,
            second.cpu_pressure_ns,
            second.memory_pressure_ns,
        ];
        let mut words = vec![second.start_ns, second.end_ns, second.run_ns, second.ready_ns];
        words.extend(known.map(|number| number.unwrap_or(UNKNOWN)));
        let limit = second.cpu_limit_millis.unwrap_or(u32::MAX);
        record(kind::SECOND, 0, &numbers(second.pid, limit, &words))
    }

    /// How long requests would have waited for an event loop.
    pub fn delay(delay: &Delay) -> Vec<u8> {
        let Delay { pid, tid, start_ns, end_ns, delay_us, moments } = *delay;
        let words = [start_ns, end_ns, delay_us, u64::from(moments)];
        record(kind::DELAY, 0, &numbers(pid, tid, &words))
    }

    /// What a thread pool did in a piece of time.
    pub fn pool(pool: &PoolUse) -> Vec<u8> {
        let mut body = numbers(pool.pid, pool.threads, &[pool.start_ns, pool.end_ns]);
        let counts = [pool.looks, pool.busy, pool.full, pool.most_queued];
        for count in counts.iter().chain(&pool.queued) {
            body.extend_from_slice(&count.to_ne_bytes());
        }
        record(kind::POOL, 0, &body)
    }

    fn numbers(first: u32, second: u32, words: &[u64]) -> Vec<u8> {
        let mut body = [first.to_ne_bytes(), second.to_ne_bytes()].concat();
        words.iter().for_each(|word| body.extend_from_slice(&word.to_ne_bytes()));
        body
    }

    /// A thread was off the CPU several times, each time for a moment.
    pub fn short_waits(waits: &ShortWaits) -> Vec<u8> {
        let mut body = [waits.pid.to_ne_bytes(), waits.tid.to_ne_bytes()].concat();
        for number in [waits.time_ns, waits.count, waits.total_ns] {
            body.extend_from_slice(&number.to_ne_bytes());
        }
        record(kind::SHORT_WAITS, 0, &body)
    }

    /// A frame that was named when it was seen, in as many records as it needs.
    pub fn javascript(frame: &JavaScript<'_>) -> Vec<u8> {
        if let FrameName::Symbol(symbol) = frame.name {
            return symbol_frame(frame, symbol);
        }
        let bytes = javascript::encode(frame);
        javascript::parts(&bytes)
            .flat_map(|(marks, part)| counted(kind::NAMED, marks, part))
            .collect()
    }

    /// A frame whose name has no parts.
    fn symbol_frame(frame: &JavaScript<'_>, symbol: &[u8]) -> Vec<u8> {
        let mut body = Vec::with_capacity(16 + symbol.len() + 1);
        for number in [frame.row, frame.line, frame.column, u32::from(frame.inlined)] {
            body.extend_from_slice(&number.to_ne_bytes());
        }
        body.extend_from_slice(symbol);
        body.push(0);
        record(kind::JAVASCRIPT, 0, &body)
    }

    /// A script that a transpiler made, in as many records as it needs: its name, its map, its text.
    pub fn script(script: &Script<'_>, out: &mut Vec<u8>) {
        let name = script.name.get(..PART_BYTES).unwrap_or(script.name);
        out.extend(counted(kind::SCRIPT, 0, name));
        for (part, bytes) in [(1, script.map_url), (2, script.text)] {
            bytes
                .chunks(PART_BYTES)
                .for_each(|bytes| out.extend(counted(kind::SCRIPT, part, bytes)));
        }
    }

    /// What fits into a record.
    const PART_BYTES: usize = 48 << 10;

    /// Bytes of any length and content: a record alone is filled up.
    fn counted(kind: u32, part: u16, bytes: &[u8]) -> Vec<u8> {
        record(kind, part, &[&(bytes.len() as u32).to_ne_bytes(), bytes].concat())
    }

    /// What people should know of the recording, as a sentence without a full stop.
    pub fn note(sentence: &str) -> Vec<u8> {
        record(kind::NOTE, 0, &[sentence.as_bytes(), &[0]].concat())
    }

    /// How many frames of generated code got no name, and why.
    pub fn unnamed(reason: &str, count: u64) -> Vec<u8> {
        record(kind::UNNAMED, 0, &[&count.to_ne_bytes(), reason.as_bytes(), &[0]].concat())
    }

    /// How many of the recorder's own losses there were.
    pub fn loss(loss: Loss, count: u64) -> Vec<u8> {
        record(kind::LOSS, 0, &[u64::from(loss as u32).to_ne_bytes(), count.to_ne_bytes()].concat())
    }

    /// What a record has room for: a sample that has more is cut, or it would be no sample at all.
    const MOST_WORDS: usize = 8180;

    /// A sample of the clock, as one without registers and stack: `id` is one of its event's numbers.
    pub fn sample(id: u64, sample: &Sample<'_>, out: &mut Vec<u8>) {
        let unknown = u32::MAX;
        let mut words = vec![id, sample.chain.first().map_or(0, |address| address.value)];
        let pair = |low: u32, high: u32| u64::from_ne_bytes(pair_bytes(low, high));
        words.push(pair(sample.pid.unwrap_or(unknown), sample.tid.unwrap_or(unknown)));
        words.extend([sample.time_ns, pair(sample.cpu.unwrap_or(unknown), 0), sample.period, 0]);
        let count = words.len() - 1;
        let mut context = None;
        for address in sample.chain {
            if words.len() >= MOST_WORDS {
                words.extend([marker(Context::Cut), Cut::DeeperThanCopy as u64]);
                break;
            }
            if context != Some(address.context) {
                context = Some(address.context);
                words.push(marker(address.context));
            }
            words.push(address.value);
        }
        add_awaits(sample, &mut words);
        words[count] = (words.len() - count - 1) as u64;
        let mut body = Vec::with_capacity(words.len() * 8);
        words.iter().for_each(|word| body.extend_from_slice(&word.to_ne_bytes()));
        out.extend(record(kind::SAMPLE, MISC_USER, &body));
    }

    /// What waits for the stack stands behind it, where there is room.
    fn add_awaits(sample: &Sample<'_>, words: &mut Vec<u64>) {
        let Some(awaits) = sample.awaits else { return };
        if words.len().saturating_add(awaits.awaiters.len()) <= MOST_WORDS {
            let stands_for = awaits.stands_for.map_or(0, |count| u64::from(count) + 1);
            let end = awaits.end as u64 | stands_for << 32;
            words.extend([AWAITS, u64::from(awaits.resumed), end]);
            words.extend(awaits.awaiters.iter().map(|row| u64::from(*row)));
        }
    }

    fn pair_bytes(low: u32, high: u32) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&low.to_ne_bytes());
        bytes[4..].copy_from_slice(&high.to_ne_bytes());
        bytes
    }

    /// What stands in a call chain before the addresses of a context: the kernel's numbers, and one of our own.
    fn marker(context: Context) -> u64 {
        match context {
            Context::Kernel => -128i64 as u64,
            Context::User => USER,
            Context::Elsewhere => -32i64 as u64,
            Context::JavaScript => -3072i64 as u64,
            Context::Cut => CUT,
        }
    }

    pub(crate) const USER: u64 = -512i64 as u64;
    pub(crate) const CUT: u64 = -3328i64 as u64;
    const AWAITS: u64 = -3584i64 as u64;

    /// What a recording starts with: from here on, its chunks are sealed.
    pub fn opening() -> Vec<u8> {
        let mut bytes = super::magic();
        bytes.extend(seal(&[]));
        bytes
    }

    /// What closes a chunk: its checksum.
    pub fn seal(chunk: &[u8]) -> Vec<u8> {
        record(kind::CHECKSUM, 0, &u64::from(crc32fast::hash(chunk)).to_ne_bytes())
    }

    /// The end of a round.
    pub fn finished_round() -> Vec<u8> {
        super::finished_round()
    }

    /// The CPU time so far.
    pub fn cpu_time(time: &CpuTime) -> Vec<u8> {
        let body = [time.used_ns.to_ne_bytes(), time.hidden_kernel_ns.to_ne_bytes()].concat();
        record(kind::CPU_TIME, 0, &body)
    }
}

/// The end of a round: all rings were read.
pub(crate) fn finished_round() -> Vec<u8> {
    record(kind::FINISHED_ROUND, 0, &[])
}

/// The whole records in a buffer: what each is, and its body.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    whole_records(bytes).map(|(kind, record)| (kind, &record[HEADER_BYTES..]))
}

/// The whole records in a buffer: what each is, and all its bytes.
pub(crate) fn whole_records(mut bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || {
        let (header, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]])).max(HEADER_BYTES);
        let (record, rest) = bytes.split_at_checked(size)?;
        bytes = rest;
        Some((kind, record))
    })
}

/// The kinds of the whole records in a buffer.
pub(crate) fn kinds(bytes: &[u8]) -> impl Iterator<Item = u32> {
    records(bytes).map(|(kind, _)| kind)
}

/// A thread or a process began.
pub(crate) struct Began {
    pub(crate) pid: u32,
    pub(crate) parent_pid: u32,
    pub(crate) tid: u32,
}

/// What began, by the records.
pub(crate) fn forks(bytes: &[u8]) -> impl Iterator<Item = Began> {
    let began = |body: &[u8]| {
        let word = |at: usize| body.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        Some(Began { pid: word(0)?, parent_pid: word(4)?, tid: word(8)? })
    };
    records(bytes).filter(|(kind, _)| *kind == kind::FORK).filter_map(move |(_, body)| began(body))
}

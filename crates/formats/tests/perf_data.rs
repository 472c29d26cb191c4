//! perf.data written here record by record, in both byte orders and both forms: what the sink receives must be
//! the same, and damage must never cost more than what stands behind it.

use std::num::NonZero;

use formats::perf_data;
use trace::{About, BuildId, Comm, Context, Event, Exit, Fork, Mmap, Sample, Sink, Switch};

/// What a sink received, as text.
#[derive(Default)]
struct Received(Vec<String>);

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Sink for Received {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(format!("event {} {} {:?}", event.row, text(event.name), event.measure));
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        let letter = |context| match context {
            Context::User => 'u',
            Context::Kernel => 'k',
            Context::Elsewhere => '?',
            Context::JavaScript => 'j',
            Context::Cut => '…',
        };
        let chain: Vec<String> = sample
            .chain
            .iter()
            .map(|frame| format!("{:x}{}", frame.value, letter(frame.context)))
            .collect();
        let ids = (sample.pid.unwrap_or(0), sample.tid.unwrap_or(0));
        let registers = sample.user_registers.map_or(0, |registers| registers.values.len());
        self.0.push(format!(
            "sample {} at {} of {ids:?} period {} chain {} registers {registers} stack {}{}",
            sample.event,
            sample.time_ns,
            sample.period,
            chain.join(" "),
            sample.user_stack.len(),
            if sample.user_stack_is_full { ", full" } else { "" }
        ));
    }

    fn mmap(&mut self, mmap: &Mmap<'_>) {
        let Mmap { pid, start, length, offset, path, build_id, executable, time_ns } = *mmap;
        let build_id = build_id.map(|id| id.0.len());
        self.0.push(format!(
            "mmap at {time_ns} of {pid:?} {start:x}+{length:x} from {offset:x} {} {build_id:?} {executable}",
            text(path)
        ));
    }

    fn comm(&mut self, comm: &Comm<'_>) {
        self.0.push(format!("comm {}/{} {} {}", comm.pid, comm.tid, text(comm.name), comm.exec));
    }

    fn fork(&mut self, fork: &Fork) {
        self.0.push(format!("{fork:?}"));
    }

    fn exit(&mut self, exit: &Exit) {
        self.0.push(format!("{exit:?}"));
    }

    fn switch(&mut self, switch: &Switch) {
        self.0.push(format!("{switch:?}"));
    }

    fn build_id(&mut self, path: &[u8], id: BuildId<'_>) {
        self.0.push(format!("build id {} {:?}", text(path), id.0));
    }

    fn about(&mut self, about: &About<'_>) {
        self.0.push(format!("about {:?} {:?}", about.host.map(text), about.command.map(text)));
    }

    fn lost(&mut self, count: u64) {
        self.0.push(format!("lost {count}"));
    }

    fn damage(&mut self, sentence: String) {
        self.0.push(format!("damage: {sentence}"));
    }
}

fn read(file: &[u8]) -> Vec<String> {
    let on = |threads: usize| {
        let mut received = Received::default();
        perf_data::read(file, NonZero::new(threads).unwrap(), &mut received);
        received.0
    };
    let received = on(1);
    // A thread takes long to start: one input in four shows that two deliver the same.
    if file.len().is_multiple_of(4) {
        assert_eq!(on(2), received);
    }
    received
}

/// Writes numbers in one of the two orders.
#[derive(Clone, Copy)]
struct Writer {
    big: bool,
}

const SAMPLE_TYPE: u64 =
    1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13 | 1 << 16;
/// freq, sample_id_all.
const FLAGS: u64 = 1 << 10 | 1 << 18;
const ATTRIBUTE_BYTES: usize = 112;

impl Writer {
    fn u16(self, value: u16) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    fn u32(self, value: u32) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    fn u64(self, value: u64) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    fn words(self, values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| self.u64(*value)).collect()
    }

    fn flags(self, value: u64) -> Vec<u8> {
        let bytes = value.to_le_bytes();
        if self.big { bytes.map(u8::reverse_bits).to_vec() } else { bytes.to_vec() }
    }

    fn magic(self) -> &'static [u8] {
        if self.big { b"2ELIFREP" } else { b"PERFILE2" }
    }

    fn record(self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(body.len() + 8).unwrap();
        [&self.u32(kind)[..], &self.u16(misc), &self.u16(size), body].concat()
    }

    /// A record that ends with thread, time, CPU and id.
    fn timed(self, kind: u32, misc: u16, body: &[u8], (tid, time): (u32, u64)) -> Vec<u8> {
        let trailer =
            [self.u32(7), self.u32(tid), self.u64(time), self.u32(0), self.u32(0), self.u64(11)]
                .concat();
        self.record(kind, misc, &[body, &trailer].concat())
    }

    /// cpu-clock at 99 Hz, and page-faults.
    fn attribute(self, config: u64) -> Vec<u8> {
        let mut bytes = [self.u32(1), self.u32(ATTRIBUTE_BYTES as u32)].concat();
        bytes.extend(self.words(&[config, 99, SAMPLE_TYPE, 0]));
        bytes.extend(self.flags(FLAGS));
        bytes.extend(self.words(&[0, 0, 0, 0, 0b101]));
        bytes.resize(ATTRIBUTE_BYTES, 0);
        bytes
    }

    fn sample(self, id: u64, time: u64, chain: &[u64]) -> Vec<u8> {
        let mut body = self.words(&[id, 0x1234]);
        body.extend([self.u32(7), self.u32(8)].concat());
        body.extend(self.u64(time));
        body.extend([self.u32(3), self.u32(0)].concat());
        body.extend(self.words(&[1000, chain.len() as u64]));
        body.extend(self.words(chain));
        // Registers of a 64-bit process, then 16 bytes of stack, of which one event fills 8 and the other one all.
        body.extend(self.words(&[2, 0xaaaa, 0xbbbb, 16, 1, 2, if id == 12 { 16 } else { 8 }]));
        self.record(9, 2, &body)
    }

    fn path(self, path: &str) -> Vec<u8> {
        let mut bytes = path.as_bytes().to_vec();
        bytes.resize((path.len() + 1).next_multiple_of(8), 0);
        bytes
    }

    fn data(self) -> Vec<u8> {
        let user = -512i64 as u64;
        let kernel = -128i64 as u64;
        let mapped = [self.u32(7), self.u32(7), self.words(&[0x1000, 0x2000, 0x40])].concat();
        let mapped2 = [
            &mapped[..],
            &[20, 0, 0, 0],
            &[9; 20],
            &self.u32(5),
            &self.u32(2),
            &self.path("/usr/bin/node"),
        ]
        .concat();
        let kernel_map =
            [self.u32(u32::MAX), self.u32(0), self.words(&[0x8000, 0x100, 0])].concat();
        [
            self.timed(1, 1, &[kernel_map, self.path("[kernel.kallsyms]_text")].concat(), (0, 0)),
            self.timed(10, 2 | 1 << 14, &mapped2, (7, 5)),
            self.timed(3, 1 << 13, &[self.u32(7), self.u32(7), self.path("node")].concat(), (7, 6)),
            self.sample(11, 30, &[kernel, 0x8001, user, 0x1001, 0x1002]),
            self.sample(12, 20, &[user, 0x1003]),
            self.record(68, 0, &[]),
            self.timed(7, 0, &[self.words(&[0]), self.words(&[0]), self.u64(31)].concat(), (7, 31)),
            self.timed(14, 1 << 13, &[], (8, 32)),
            self.record(68, 0, &[]),
            self.sample(11, 25, &[user, 0x1004]),
            self.timed(2, 0, &self.words(&[11, 5]), (7, 33)),
        ]
        .concat()
    }

    fn counted(self, text: &str) -> Vec<u8> {
        let bytes = self.path(text);
        [self.u32(bytes.len() as u32), bytes].concat()
    }

    /// Features 2 (build ids), 3 (host name), 11 (command line) and 12 (events).
    fn features(self) -> [Vec<u8>; 4] {
        let build_id =
            [&self.u32(7)[..], &[9; 20], &[20, 0, 0, 0], &self.path("/usr/bin/node")].concat();
        let event = |config, name: &str, id| {
            [self.attribute(config), self.u32(1), self.counted(name), self.u64(id)].concat()
        };
        [
            self.record(67, 2 | 1 << 15, &build_id),
            self.counted("web-3"),
            [self.u32(2), self.counted("perf"), self.counted("record")].concat(),
            [
                self.u32(2),
                self.u32(ATTRIBUTE_BYTES as u32),
                event(0, "cpu-clock:ppp", 11),
                event(2, "page-faults:u", 12),
            ]
            .concat(),
        ]
    }

    fn file(self) -> Vec<u8> {
        let ids_at = 104;
        let attributes_at = ids_at + 16;
        let row = |config, at: u64| [self.attribute(config), self.words(&[at, 8])].concat();
        let attributes = [row(0, ids_at), row(2, ids_at + 8)].concat();
        let data = self.data();
        let data_at = attributes_at + attributes.len() as u64;
        let mut file = [self.magic(), &self.words(&[104, ATTRIBUTE_BYTES as u64 + 16])].concat();
        file.extend(self.words(&[
            attributes_at,
            attributes.len() as u64,
            data_at,
            data.len() as u64,
            0,
            0,
        ]));
        file.extend(self.words(&[1 << 2 | 1 << 3 | 1 << 11 | 1 << 12, 0, 0, 0]));
        file.extend(self.words(&[11, 12]));
        file.extend(attributes);
        file.extend(&data);
        let features = self.features();
        let mut at = file.len() as u64 + 16 * features.len() as u64;
        for feature in &features {
            file.extend(self.words(&[at, feature.len() as u64]));
            at += feature.len() as u64;
        }
        file.extend(features.concat());
        file
    }

    fn pipe(self) -> Vec<u8> {
        let attribute =
            |config, id| self.record(64, 0, &[self.attribute(config), self.u64(id)].concat());
        let [build_ids, host, command, events] = self.features();
        let feature =
            |number, bytes: &[u8]| self.record(80, 0, &[&self.u64(number)[..], bytes].concat());
        let mut file = [self.magic(), &self.u64(16)].concat();
        file.extend([attribute(0, 11), attribute(2, 12)].concat());
        file.extend([feature(3, &host), feature(11, &command), feature(12, &events)].concat());
        file.extend(self.data());
        file.extend(build_ids);
        file
    }
}

const LITTLE: Writer = Writer { big: false };
const BIG: Writer = Writer { big: true };

#[test]
fn everything_is_reported_in_the_order_of_time() {
    let received = read(&LITTLE.file());
    // The sample at 25 comes two rounds too late for its place.
    let expected = [
        "event 0 cpu-clock Ns",
        "event 1 page-faults Event",
        "mmap at 0 of None 8000+100 from 0 [kernel.kallsyms]_text None true",
        "mmap at 5 of Some(7) 1000+2000 from 40 /usr/bin/node Some(20) true",
        "comm 7/7 node true",
        "sample 1 at 20 of (7, 8) period 1000 chain 1003u registers 2 stack 16, full",
        "sample 0 at 30 of (7, 8) period 1000 chain 8001k 1001u 1002u registers 2 stack 8",
        "sample 0 at 25 of (7, 8) period 1000 chain 1004u registers 2 stack 8",
        "Fork { time_ns: 31, pid: 0, tid: 0, parent_pid: 0, parent_tid: 0 }",
        "Switch { time_ns: 32, pid: 7, tid: 8, out: true, preempted: false }",
        "lost 5",
        "build id /usr/bin/node [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]",
        "about Some(\"web-3\") None",
        "about None Some(\"perf record\")",
        "event 0 cpu-clock:ppp Ns",
        "event 1 page-faults:u Event",
    ];
    assert_eq!(received, expected);
}

#[test]
fn both_orders_contain_the_same() {
    assert_eq!(read(&BIG.file()), read(&LITTLE.file()));
    assert_eq!(read(&BIG.pipe()), read(&LITTLE.pipe()));
}

#[test]
fn a_pipe_contains_what_a_file_contains() {
    let without_first_names = |received: Vec<String>| {
        let mut received: Vec<String> = received
            .into_iter()
            .filter(|line| {
                !matches!(&line[..], "event 0 cpu-clock Ns" | "event 1 page-faults Event")
            })
            .collect();
        received.sort();
        received
    };
    assert_eq!(
        without_first_names(read(&LITTLE.pipe())),
        without_first_names(read(&LITTLE.file()))
    );
}

#[test]
fn a_recording_that_was_killed_has_its_samples() {
    let mut file = LITTLE.file();
    file[48..56].fill(0);
    file.truncate(file.len() - LITTLE.features().concat().len() - 64);
    let received = read(&file);
    assert_eq!(received.iter().filter(|line| line.starts_with("sample")).count(), 3);
    assert!(
        received.contains(&"damage: perf was killed before it finished the file".to_owned()),
        "{received:#?}"
    );
}

#[test]
fn a_cut_costs_what_stands_behind_it() {
    for whole in [LITTLE.file(), BIG.pipe()] {
        let mut samples_before = 0;
        for length in 0..whole.len() {
            let received = read(&whole[..length]);
            let samples = received.iter().filter(|line| line.starts_with("sample")).count();
            assert!(samples >= samples_before, "{length}: {received:#?}");
            samples_before = samples;
            let ends_well = !received.iter().any(|line| line.starts_with("damage"));
            assert!(
                !ends_well || length >= 16 && whole.starts_with(BIG.magic()),
                "{length}: {received:#?}"
            );
        }
        assert_eq!(samples_before, 3);
    }
}

#[test]
fn flipped_bytes_are_survived() {
    for whole in [LITTLE.file(), LITTLE.pipe(), BIG.file()] {
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff, whole[at] ^ 1, whole[at] ^ 0x80] {
                let mut mutant = whole.clone();
                mutant[at] = value;
                read(&mutant);
            }
        }
    }
}

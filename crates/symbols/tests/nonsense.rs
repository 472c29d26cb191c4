//! Records without sense, in any order: whatever arrives, a profile that holds together comes out.

use std::io::{self, Cursor};
use std::path::Path;

use symbols::{Files, Namer, OpenFile, Sources};
use trace::{
    Address, BuildId, Comm, Context, Event, Facts, Fork, FrameName, Function, FunctionKind,
    JavaScript, Measure, Mmap, Sample, ScriptPart, Sink, Switch, Tier,
};

/// Every file exists and holds the same noise, which starts like something at times.
struct Noise(Vec<u8>);

impl Files for Noise {
    fn open(&self, _: Option<&Path>, _: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(Cursor::new(self.0.clone())))
    }
}

const STARTS: &[&[u8]] =
    &[b"", b"\x7fELF\x02\x01\x01", b"DTiJ", b"10 10 name\nffff T a\n", b"\x7fELF\x01\x02\x01"];
const PATHS: &[&[u8]] = &[
    b"",
    b"//anon",
    b"/a",
    b"/a (deleted)",
    b"/tmp/jit-1.dump",
    b"[vdso]",
    b"\xff/",
    b"[kernel.kallsyms]_text",
];

#[test]
fn any_records_make_a_profile() {
    for seed in 1..400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = STARTS[random.below(STARTS.len() as u64) as usize].to_vec();
        bytes.extend((0..random.below(2000)).map(|_| random.below(256) as u8).collect::<Vec<u8>>());
        let mut namer =
            Namer::new(Sources { files: Box::new(Noise(bytes)), ..Sources::default() }, "noise");
        for _ in 0..random.below(300) {
            feed(&mut namer, &mut random);
        }
        let profile = namer.finish();
        assert_eq!(profile.check(), Ok(()), "{seed}");
    }
}

fn feed(namer: &mut Namer, random: &mut Random) {
    let (time_ns, pid, tid) = (random.number(), random.below(4) as u32, random.below(4) as u32);
    let path = PATHS[random.below(PATHS.len() as u64) as usize];
    let flag = random.below(2) == 0;
    match random.below(13) {
        0 => namer.comm(&Comm { time_ns, pid, tid, name: path, exec: flag }),
        1 => namer.fork(&Fork {
            time_ns,
            pid,
            tid,
            parent_pid: random.below(4) as u32,
            parent_tid: 1,
        }),
        2 => namer.switch(&Switch { time_ns, pid, tid, out: flag, preempted: pid % 2 == 0 }),
        3 => namer.build_id(path, BuildId(&path[..path.len().min(3)])),
        4 => namer.event(&Event {
            row: random.below(3) as u32,
            name: path,
            measure: Measure::Event,
            timed: flag,
            has_period: flag,
            interval_ns: None,
        }),
        5 | 6 => namer.mmap(&Mmap {
            time_ns,
            pid: Some(pid).filter(|pid| *pid > 0),
            start: random.number(),
            length: random.number(),
            offset: random.number(),
            path,
            build_id: Some(BuildId(b"")).filter(|_| flag),
            executable: random.below(4) > 0,
        }),
        7 => namer.facts(&Facts {
            pid,
            inner_pid: tid,
            container: path,
            app: path,
            ..Facts::default()
        }),
        8 => namer.javascript(&JavaScript {
            row: random.below(4) as u32,
            name: frame_name(random),
            line: tid,
            column: pid,
            inlined: flag,
        }),
        9 => feed_script(namer, random),
        _ => feed_sample(namer, random, time_ns, pid, tid),
    }
}

fn frame_name(random: &mut Random) -> FrameName<'static> {
    let one_of = |list: &'static [&'static [u8]], random: &mut Random| {
        list[random.below(list.len() as u64) as usize]
    };
    if random.below(3) == 0 {
        return FrameName::Symbol(one_of(SYMBOLS, random));
    }
    let kind =
        [FunctionKind::JavaScript, FunctionKind::Wasm { index: None }, FunctionKind::WasmToJs]
            [random.below(3) as usize];
    let some = |text: &'static [u8], random: &mut Random| (random.below(2) == 0).then_some(text);
    let (name, script, generator) =
        (one_of(SYMBOLS, random), one_of(SCRIPTS, random), one_of(SCRIPTS, random));
    let (script, generator) = (some(script, random), some(generator, random));
    let (line, column) = (random.number() as u32, random.number() as u32);
    let function = Function { name, script, generator, line, column, kind };
    let function = (random.below(3) > 0).then_some(function);
    FrameName::Function { row: random.below(4) as u32, tier: Tier::Sparkplug, function }
}

const SYMBOLS: &[&[u8]] = &[
    b"JS:*f /a.ts:1:2",
    b"JS:~ file:///a.ts:9:9999999",
    b"JS:^g /b.js:0:0",
    b"",
    b"JS:*f \xff:1:1",
];
const SCRIPTS: &[&[u8]] = &[b"/a.ts", b"file:///a.ts", b"/b.js", b"\xff", b""];
const MAPS: &[&[u8]] = &[
    b"data:,{\"version\":3,\"sources\":[\"a.ts\",\"../../x\"],\"names\":[],\"mappings\":\"AAAA;;AACA,ICg\"}",
    b"data:;base64,AAAA",
    b"/a.map",
    b"https://a",
    b"data:",
];

/// Parts of scripts, also without their beginnings.
fn feed_script(namer: &mut Namer, random: &mut Random) {
    let one_of = |list: &'static [&'static [u8]], random: &mut Random| {
        list[random.below(list.len() as u64) as usize]
    };
    for _ in 0..random.below(4) {
        let part = match random.below(3) {
            0 => ScriptPart::Name(one_of(SCRIPTS, random)),
            1 => ScriptPart::MapUrl(one_of(MAPS, random)),
            _ => ScriptPart::Text(one_of(SYMBOLS, random)),
        };
        namer.script(&part);
    }
}

fn feed_sample(namer: &mut Namer, random: &mut Random, time_ns: u64, pid: u32, tid: u32) {
    let contexts =
        [Context::User, Context::Kernel, Context::Elsewhere, Context::JavaScript, Context::Cut];
    let chain: Vec<Address> = (0..random.below(8))
        .map(|_| Address { value: random.number(), context: contexts[random.below(5) as usize] })
        .map(|address| match address.context {
            Context::JavaScript => Address { value: address.value % 5, ..address },
            _ => address,
        })
        .collect();
    namer.sample(&Sample {
        event: random.below(4) as u32,
        time_ns,
        pid: Some(pid).filter(|pid| *pid > 0),
        tid: Some(tid).filter(|tid| *tid > 0),
        cpu: None,
        period: random.number(),
        chain: &chain,
        user_registers: None,
        user_stack: &[],
        user_stack_is_full: false,
        awaits: None,
    });
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Small, huge or anything.
    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(64),
            1 => u64::MAX - self.below(64),
            2 => 0x1000 * self.below(16),
            _ => self.below(u64::MAX),
        }
    }
}

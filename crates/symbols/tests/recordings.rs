//! Small recordings, made up record by record, and what becomes of them: which name each frame gets from which
//! source, and why it gets none.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor};
use std::path::Path;

use elf::Elf;
use profile::{Category, Profile, Tier, Unit};
use symbols::{Files, ForProcess, KernelNames, Namer, OpenFile, Sources};
use trace::{
    About, Address, BuildId, Comm, Context, Event, Fork, Measure, Mmap, Sample, ShortWaits, Sink,
    Switch,
};

/// Files that exist only here, by path; those of a root begin with it.
#[derive(Default)]
struct Made(BTreeMap<String, Vec<u8>>);

impl Files for Made {
    fn open(&self, root: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let path = format!("{}{}", root.map_or("", |root| root.to_str().unwrap()), path.display());
        let bytes = self.0.get(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes.clone())))
    }
}

fn sources<const N: usize>(files: [(&str, &[u8]); N]) -> Sources {
    let files = files.map(|(path, bytes)| (path.to_owned(), bytes.to_vec()));
    Sources { files: Box::new(Made(files.into())), ..Sources::default() }
}

fn namer(sources: Sources) -> Namer {
    let mut namer = Namer::new(sources, "perf.data");
    let (name, measure) = (&b"cpu-clock:ppp"[..], Measure::Ns);
    namer.event(&Event { row: 0, name, measure, timed: true, has_period: true, interval_ns: None });
    namer
}

const JIT: u64 = 0x7f00_0000_0000;

fn mmap(namer: &mut Namer, pid: u32, start: u64, length: u64, offset: u64, path: &str) {
    let (path, pid) = (path.as_bytes(), Some(pid));
    let (time_ns, build_id, executable) = (0, None, true);
    namer.mmap(&Mmap { time_ns, pid, start, length, offset, path, build_id, executable });
}

fn sample(namer: &mut Namer, time_ns: u64, pid: u32, chain: &[(u64, Context)]) {
    let chain: Vec<Address> =
        chain.iter().map(|&(value, context)| Address { value, context }).collect();
    namer.sample(&Sample {
        event: 0,
        time_ns,
        pid: Some(pid),
        tid: Some(pid),
        cpu: None,
        period: 1_000_000,
        chain: &chain,
        user_registers: None,
        user_stack: &[],
        user_stack_is_full: false,
        awaits: None,
    });
}

fn user(namer: &mut Namer, time_ns: u64, pid: u32, addresses: &[u64]) {
    let chain: Vec<_> = addresses.iter().map(|address| (*address, Context::User)).collect();
    sample(namer, time_ns, pid, &chain);
}

/// `symbol (module)` of each sample's frames, the leaf first.
fn chains(profile: &Profile) -> Vec<Vec<String>> {
    assert_eq!(profile.check(), Ok(()));
    let frames = |mut at: profile::StackId| {
        let mut names = Vec::new();
        while let Some(id) = at.some() {
            let frame = profile.frames().row(profile.stacks().frame[id.index()]);
            let module = profile.functions().row(frame.function).module;
            let module = profile.strings().get(profile.modules()[module.index()].name);
            names.push(format!("{} ({module})", profile.strings().get(frame.symbol)));
            at = profile.stacks().parent[id.index()];
        }
        names
    };
    profile
        .lanes()
        .iter()
        .flat_map(|lane| lane.samples.stack.iter().map(|stack| frames(*stack)))
        .collect()
}

fn unnamed(profile: &Profile) -> Vec<(String, u64)> {
    profile.meta().losses.unnamed.iter().map(|(reason, count)| (reason.clone(), *count)).collect()
}

/// A real file: its bytes, its build id, and the file offset and the name of one of its functions.
struct Real {
    bytes: Vec<u8>,
    build_id: Option<Vec<u8>>,
    offset: u64,
    name: String,
}

fn own_program() -> Real {
    let program = std::env::current_exe().unwrap();
    real(&program, "all::main").unwrap()
}

/// The C library that this program uses: unlike the program it has a build id.
fn own_library() -> Option<Real> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains("/libc"));
    real(path?.as_ref(), "malloc").filter(|real| real.build_id.is_some())
}

fn real(path: &Path, name: &str) -> Option<Real> {
    let bytes = fs::read(path).unwrap();
    let elf = Elf::parse(&bytes[..]).unwrap();
    let symbols = elf.symbols();
    let symbol = symbols.iter(true).find(|symbol| symbol.name.split('@').next() == Some(name))?;
    let mut offsets = (0..64).map(|pages| symbol.start.saturating_sub(pages * 4096));
    let offset = offsets.find(|offset| elf.address_of(*offset) == Some(symbol.start))?;
    let (build_id, name) = (elf.build_id().map(<[u8]>::to_vec), symbol.name.clone().into_owned());
    Some(Real { build_id, offset, name, bytes })
}

#[test]
fn files_are_found_in_their_root_first() {
    let own = own_program();
    for (place, root) in [("/srv/app", None), ("/root-of-web-3/srv/app", Some("/root-of-web-3"))] {
        let sources = Sources { root: root.map(Into::into), ..sources([(place, &own.bytes)]) };
        let mut namer = namer(sources);
        mmap(&mut namer, 7, 0x10_0000, 1 << 30, 0, "/srv/app");
        user(&mut namer, 1, 7, &[0x10_0000 + own.offset]);
        let profile = namer.finish();
        assert_eq!(chains(&profile), [[format!("{} (/srv/app)", own.name)]], "{place}");
        assert_eq!(profile.frames().address, [own.offset]);
        assert_eq!(unnamed(&profile), []);
    }
}

#[test]
fn a_changed_file_names_nothing() {
    let own = own_library().unwrap_or_else(own_program);
    let path = "/srv/app";
    let name_with = |recorded: Option<&[u8]>, files: Sources, mapped: &str| {
        let mut namer = namer(files);
        mmap(&mut namer, 7, 0, 1 << 30, 0, mapped);
        user(&mut namer, 1, 7, &[own.offset]);
        if let Some(build_id) = recorded {
            namer.build_id(mapped.as_bytes(), BuildId(build_id)); // after the samples, as in perf.data
        }
        let profile = namer.finish();
        (
            chains(&profile)[0][0].clone(),
            unnamed(&profile).first().map(|(reason, _)| reason.clone()),
        )
    };
    let here = || sources([(path, &own.bytes[..])]);
    let unknown = format!("[unknown] ({path})");
    let changed = Some("the file /srv/app has changed since the recording".to_owned());
    let absent = Some("the file /srv/app is not here".to_owned());
    assert_eq!(name_with(Some(&[1, 2, 3]), here(), path), (unknown.clone(), changed.clone()));
    assert_eq!(name_with(None, sources([]), path), (unknown, absent));
    // Replaced while it ran: without a build id it is not known which file is there now.
    let deleted = "/srv/app (deleted)";
    assert_eq!(name_with(None, here(), deleted), (format!("[unknown] ({deleted})"), changed));
    if let Some(build_id) = &own.build_id {
        assert_eq!(
            name_with(Some(build_id), here(), path),
            (format!("{} ({path})", own.name), None)
        );
        assert_eq!(name_with(Some(build_id), here(), deleted).1, None);
        let hex: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let copy = format!("/cache/.build-id/{}/{}/elf", &hex[..2], &hex[2..]);
        let files = sources([(&copy, &own.bytes[..])]);
        let files = Sources { build_id_cache: Some("/cache".into()), ..files };
        assert_eq!(name_with(Some(build_id), files, path).1, None);
    }
}

#[test]
fn generated_code_has_the_names_of_its_map() {
    let map = b"7f0000001000 100 JS:*next /srv/node_modules/express/router.js:177:16\n7f0000002000 40 Builtin:Add\n";
    let mut namer = namer(sources([("/tmp/perf-7.map", map)]));
    mmap(&mut namer, 7, JIT, 0x10_0000, 0, "//anon");
    user(&mut namer, 1, 7, &[JIT + 0x1010, JIT + 0x5000, 0x42]);
    user(&mut namer, 2, 8, &[JIT + 0x1010]);
    let profile = namer.finish();
    let next = "JS:*next /srv/node_modules/express/router.js:177:16 ([JIT])";
    let expected = [
        vec![next, "[unknown] (/tmp/perf-7.map)", "[unknown] ([unknown])"],
        vec!["[unknown] ([unknown])"],
    ];
    assert_eq!(chains(&profile), expected);
    let reasons =
        [("not in the perf map".to_owned(), 1), ("nothing is mapped at the address".to_owned(), 2)];
    assert_eq!(unnamed(&profile), reasons);
    let row = profile
        .frames()
        .symbol
        .iter()
        .position(|symbol| profile.strings().get(*symbol).starts_with("JS"));
    let frame = profile.frames().row(profile.frames().ids().nth(row.unwrap()).unwrap());
    assert_eq!(
        (frame.tier, frame.category, frame.address),
        (Tier::Turbofan, Category::Dependency, JIT + 0x1010)
    );
    let function = profile.functions().row(frame.function);
    assert_eq!(
        (profile.strings().get(function.name), function.line, function.column),
        ("next", 177, 16)
    );
    assert_eq!(profile.strings().get(function.package), "express");
}

#[test]
fn a_given_map_comes_before_one_that_is_found() {
    let files = sources([("/tmp/perf-7.map", b"10 10 found\n"), ("/x.map", b"10 10 given\n")]);
    let perf_maps = vec![ForProcess { pid: Some(7), path: "/x.map".into() }];
    let mut namer = namer(Sources { perf_maps, ..files });
    user(&mut namer, 1, 7, &[0x18]);
    assert_eq!(chains(&namer.finish()), [["given ([JIT])"]]);
}

#[test]
fn a_map_does_not_name_files() {
    let mut namer = namer(sources([("/tmp/perf-7.map", b"0 ffffffffffff everything\n")]));
    mmap(&mut namer, 7, 0x1000, 0x1000, 0, "/srv/app");
    user(&mut namer, 1, 7, &[0x1800, 0x2800]);
    assert_eq!(chains(&namer.finish()), [["[unknown] (/srv/app)", "everything ([JIT])"]]);
}

#[test]
fn what_a_process_maps_counts_from_then_on() {
    let mut namer = namer(sources([]));
    mmap(&mut namer, 7, 0x1000, 0x1000, 0, "/a.so");
    user(&mut namer, 1, 7, &[0x1800]);
    namer.fork(&Fork { time_ns: 2, pid: 8, tid: 8, parent_pid: 7, parent_tid: 7 });
    mmap(&mut namer, 7, 0x1000, 0x1000, 0, "/b.so");
    user(&mut namer, 3, 7, &[0x1800]);
    user(&mut namer, 4, 8, &[0x1800]);
    namer.comm(&Comm { time_ns: 5, pid: 8, tid: 8, name: b"sh", exec: true });
    user(&mut namer, 6, 8, &[0x1800]);
    let expected = [
        ["[unknown] (/a.so)"],
        ["[unknown] (/b.so)"],
        ["[unknown] (/a.so)"],
        ["[unknown] ([unknown])"],
    ];
    assert_eq!(chains(&namer.finish()), expected);
}

const KALLSYMS: &[u8] =
    b"ffffffff81000000 T _text\nffffffff81000200 T do_syscall_64\nffffffffc0000000 t nft_do\t[nf_tables]\n";

#[test]
fn the_kernel_has_the_names_of_its_list() {
    let kernel = |text: &[u8], reference: u64| {
        let files = sources([("/k", text)]);
        let mut namer = namer(Sources { kernel: KernelNames::File("/k".into()), ..files });
        let (path, offset) = (&b"[kernel.kallsyms]_text"[..], reference);
        let (time_ns, pid, build_id, executable) = (0, None, None, true);
        let (start, length) = (0xffff_ffff_8100_0000, 0x100_0000);
        namer.mmap(&Mmap { time_ns, pid, start, length, offset, path, build_id, executable });
        let addresses = [0xffff_ffff_8100_0210, 0xffff_ffff_c000_0004, 0xffff_ffff_d000_0000];
        sample(&mut namer, 1, 7, &addresses.map(|address| (address, Context::Kernel)));
        let profile = namer.finish();
        (chains(&profile)[0].join(", "), unnamed(&profile))
    };
    let unknown = "[unknown] ([kernel.kallsyms])";
    let (names, _) = kernel(KALLSYMS, 0xffff_ffff_8100_0000);
    assert_eq!(
        names,
        format!("do_syscall_64 ([kernel.kallsyms]), nft_do ([nf_tables]), {unknown}")
    );
    let nothing = [unknown; 3].join(", ");
    let reason = |text: &str| vec![(text.to_owned(), 3)];
    let moved = "the kernel is not the one that was recorded, or was started anew";
    assert_eq!(kernel(KALLSYMS, 0xffff_ffff_a200_0000), (nothing.clone(), reason(moved)));
    let hidden = "the kernel hides its symbols (kernel.kptr_restrict)";
    assert_eq!(kernel(b"0000000000000000 T _text\n", 1), (nothing, reason(hidden)));
}

/// A jitdump of this machine's byte order.
fn jitdump(loads: &[(u64, u64, &str)]) -> Vec<u8> {
    let word = |value: u32| value.to_ne_bytes().to_vec();
    let long = |value: u64| value.to_ne_bytes().to_vec();
    let mut bytes = [0x4a69_5444, 1, 40, 62, 0, 7].map(word).concat();
    bytes.extend([0, 0].map(long).concat());
    for (time_ns, start, name) in loads {
        let size = 56 + name.len() as u32 + 1 + 4;
        bytes.extend([word(0), word(size), long(*time_ns), word(7), word(7)].concat());
        bytes.extend([*start, *start, 0x100, 1].map(long).concat());
        bytes.extend([name.as_bytes(), &[0; 5]].concat());
    }
    bytes
}

#[test]
fn a_jitdump_knows_what_stood_there_when() {
    let dump = jitdump(&[(10, JIT, "JS:~early a.js:1:1"), (20, JIT, "JS:*late a.js:2:1")]);
    for (path, given) in [("/tmp/jit-7.dump", false), ("/x.dump", true)] {
        let jitdumps =
            given.then(|| ForProcess { pid: None, path: path.into() }).into_iter().collect();
        let mut namer = namer(Sources { jitdumps, ..sources([(path, &dump[..])]) });
        mmap(&mut namer, 7, 0x5000, 0x1000, 0, if given { "//anon" } else { path });
        mmap(&mut namer, 7, JIT, 0x10_0000, 0, "//anon");
        for time_ns in [5, 15, 19, 25] {
            user(&mut namer, time_ns, 7, &[JIT + 8, JIT + 0x200]);
        }
        let chains = chains(&namer.finish());
        let leaves: Vec<&str> = chains.iter().map(|chain| chain[0].as_str()).collect();
        let early = "JS:~early a.js:1:1 ([JIT])";
        assert_eq!(
            leaves,
            ["[unknown] (/tmp/perf-7.map)", early, early, "JS:*late a.js:2:1 ([JIT])"]
        );
    }
}

#[test]
fn lanes_threads_switches_and_losses() {
    let mut namer = namer(sources([]));
    let fault = Event {
        row: 1,
        name: b"faults",
        measure: Measure::Event,
        timed: true,
        has_period: true,
        interval_ns: None,
    };
    namer.event(&fault);
    namer.comm(&Comm { time_ns: 0, pid: 6, tid: 6, name: b"never seen", exec: false });
    namer.comm(&Comm { time_ns: 0, pid: 7, tid: 7, name: b"node", exec: false });
    user(&mut namer, 1_000_000_100, 7, &[]);
    namer.comm(&Comm { time_ns: 0, pid: 7, tid: 7, name: b"web", exec: false });
    user(&mut namer, 1_000_000_200, 7, &[1, 2]);
    let of_no_thread = Sample {
        event: 1,
        time_ns: 1_000_000_300,
        pid: None,
        tid: None,
        cpu: None,
        period: 0,
        chain: &[],
        user_registers: None,
        user_stack: &[],
        user_stack_is_full: false,
        awaits: None,
    };
    namer.sample(&of_no_thread);
    namer.sample(&Sample { event: 9, ..of_no_thread });
    for (time_ns, out) in [(1_000_100_100, true), (1_002_100_150, false), (1_003_000_100, true)] {
        namer.switch(&Switch { time_ns, pid: 7, tid: 7, out, preempted: false });
    }
    for time_ns in [1_000_040_100, 1_000_050_100] {
        namer.short_waits(&ShortWaits { time_ns, pid: 7, tid: 7, count: 3, total_ns: 20_000 });
    }
    namer.lost(3);
    namer.throttled();
    namer.damage("a record is cut off".into());
    let wall_clock = Some((1_700_000_000_000_000_000, 1_000_000_000));
    namer.about(&About {
        host: Some(b"web-3"),
        os_release: Some(b"6.1"),
        wall_clock,
        ..About::default()
    });
    let profile = namer.finish();
    assert_eq!(profile.check(), Ok(()));
    let lanes: Vec<_> =
        profile.lanes().iter().map(|lane| (profile.strings().get(lane.name), lane.unit)).collect();
    assert_eq!(
        lanes,
        [("cpu-clock:ppp", Unit::Ns), ("faults", Unit::Event), ("samples", Unit::Count)]
    );
    assert_eq!(profile.lanes()[1].samples.weight, [1]);
    let threads: Vec<_> =
        profile.threads().iter().map(|thread| profile.strings().get(thread.name)).collect();
    assert_eq!(threads, ["node", "web", ""]);
    let off_cpu = profile.off_cpu();
    assert_eq!(
        (&off_cpu.start_ns[..], &off_cpu.length_ns[..], &off_cpu.times[..]),
        (&[40_000, 100_000][..], &[40_000, 2_000_000][..], &[6, 1][..])
    );
    let meta = profile.meta();
    assert_eq!((meta.host.as_deref(), meta.system.as_deref()), (Some("web-3"), Some("Linux 6.1")));
    assert_eq!(meta.start_unix_ns.as_deref(), Some("1700000000000000100"));
    assert_eq!((meta.format.as_str(), meta.interval_ns), ("perf.data", Some(1_000_000)));
    assert_eq!((meta.losses.lost, meta.losses.throttled, meta.losses.damage.len()), (3, 1, 1));
}

/// A recorder that got no CPU reads the ring of one CPU much later than that of another.
#[test]
fn a_switch_that_comes_late_counts_no_time_twice() {
    const MS: u64 = 1_000_000;
    let mut namer = namer(sources([]));
    sample(&mut namer, 0, 7, &[(JIT, Context::User)]);
    for (ms, out) in [(10, true), (20, false), (30, true), (12, true), (40, false)] {
        namer.switch(&Switch { time_ns: ms * MS, pid: 7, tid: 7, out, preempted: false });
    }
    let profile = namer.finish();
    let off_cpu = profile.off_cpu();
    assert_eq!(off_cpu.start_ns, [10 * MS, 30 * MS]);
    assert_eq!(off_cpu.length_ns, [10 * MS, 10 * MS]);
}

/// 1,000 samples beside 131,054 context switches, as of a server that was recorded for ten seconds.
#[test]
fn context_switches_do_not_fill_the_file() {
    let mut namer = Namer::new(Sources::nowhere(), "perf.data");
    namer.comm(&Comm { time_ns: 0, pid: 7, tid: 7, name: b"node", exec: false });
    // Lengths without a pattern, from 20 µs to 2 ms.
    let mut noise: u64 = 1;
    let mut next = |most: u64| {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 33) % most
    };
    let (mut time_ns, mut off_ns) = (1_000_000_000, 0);
    for row in 0..65_527u64 {
        let (ran_ns, most_ns) = (next(100_000), next(2_000_000) + 1);
        let waited_ns = 20_000 + next(most_ns);
        if row % 65 == 0 {
            let (leaf, caller) = (0x1000 + next(500), 0x2000 + next(50));
            user(&mut namer, time_ns, 7, &[leaf, caller]);
        }
        for (after_ns, out) in [(ran_ns, true), (waited_ns, false)] {
            time_ns += after_ns;
            namer.switch(&Switch { time_ns, pid: 7, tid: 7, out, preempted: false });
        }
        off_ns += waited_ns;
    }
    let profile = namer.finish();
    let mut bytes = Vec::new();
    profile::file::write(&profile, &mut bytes).unwrap();
    println!("{} KB, {} rows", bytes.len() / 1000, profile.off_cpu().len());
    assert!(bytes.len() <= 100_000, "{} bytes", bytes.len());
    let kept_ns: u64 = profile.off_cpu().length_ns.iter().sum();
    assert!(
        off_ns - kept_ns < 20_000_000,
        "{kept_ns} of {off_ns}: whole microseconds, and no more is lost"
    );
}

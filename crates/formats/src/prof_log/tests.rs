//! A test for each tag of a log, in the forms of each Node that writes it differently.

use std::collections::BTreeMap;

use profile::Budget;
use profile::{Category, Profile, Role, StackId, Tier};
use symbols::Sources;

use super::fields::{Fields, code_text, frame_address, unescape};
use super::{looks_like, looks_like_preprocessed, read_preprocessed};

const START: &str = "v8-version,12,4,254,21,-node.57,0\n\
    shared-library,/opt/node/bin/node,0x400000,0x500000,0\n\
    shared-library,/usr/lib/libc.so.6,0x7f0000,0x7f1000,0\n\
    profiler,begin,1000\n\
    code-creation,JS,12,10,0x1000,256,hot /srv/app.js:7:15,0x9000,*\n\
    code-creation,JS,9,11,0x2000,256,turn /srv/app.js:3:1,0x9100,~\n\
    code-creation,Builtin,2,12,0x3000,256,LoadIC\n";

fn read(text: &[u8]) -> Profile {
    super::read(text, &Budget::default(), &Sources::nowhere())
}

fn log(lines: &str) -> Profile {
    let profile = read((START.to_owned() + lines).as_bytes());
    assert_eq!(profile.check(), Ok(()));
    profile
}

/// The stacks of all samples in order, the root first.
fn stacks(profile: &Profile) -> Vec<String> {
    let names = |mut stack: StackId| {
        let mut names = Vec::new();
        while let Some(id) = stack.some() {
            let row = profile.stacks().row(id);
            names.insert(0, profile.text(profile.function_of(row.frame).name));
            stack = row.parent;
        }
        names.join(";")
    };
    profile.lanes()[0].samples.stack.iter().map(|stack| names(*stack)).collect()
}

fn stack_of(lines: &str) -> String {
    let profile = log(lines);
    assert_eq!(profile.meta().losses.damage, Vec::<String>::new(), "{lines}");
    stacks(&profile).pop().unwrap_or_default()
}

fn category(lines: &str) -> Category {
    let profile = log(lines);
    profile.stacks().row(*profile.lanes()[0].samples.stack.last().expect("a tick")).category
}

#[test]
fn ticks() {
    for (tick, stack) in [
        ("tick,0x1010,5000,0,0x0,0,0x2010\n", "turn;hot"),
        ("tick,0x3010,5000,0,0x0,0,0x1010,0x2010\n", "turn;hot;LoadIC"),
        ("tick,0x1010,5000,0,0x0,0,+1000\n", "turn;hot"),
        ("tick,0x2010,5000,0,0x0,0,-0x1000\n", "hot;turn"),
        ("tick,0x1010,5000,0,0x0,0,overflow,0x2010\n", "turn;hot"),
        ("tick,0x400010,5000,0,0x0,6\n", "[node]"),
        ("tick,0x7f0010,5000,0,0x0,6,0x1010\n", "hot;[libc.so.6]"),
        ("tick,0x999999,5000,0,0x0,0,0x1010\n", "hot;[unknown]"),
    ] {
        assert_eq!(stack_of(tick), stack, "{tick}");
    }
}

/// The caller of a function without a frame is on top of the stack; other words there mean nothing.
#[test]
fn top_of_stack() {
    assert_eq!(stack_of("tick,0x3010,5000,0,0x1010,0,0x2010\n"), "turn;hot;LoadIC");
    assert_eq!(stack_of("tick,0x1010,5000,0,0x3010,0,0x2010\n"), "turn;hot");
    assert_eq!(stack_of("tick,0x1010,5000,0,0x999999,0,0x2010\n"), "turn;hot");
}

#[test]
fn callbacks() {
    let callback = "code-creation,Callback,-2,20,0x400100,1,get size\n";
    let tick = "tick,0x7f0010,5000,1,0x400100,6,0x1010\n";
    assert_eq!(stack_of(&(callback.to_owned() + tick)), "hot;get size");
    assert_eq!(stack_of(tick), "hot;[node]");
    assert_eq!(category(&(callback.to_owned() + tick)), Category::NodeCore);
}

#[test]
fn states() {
    let tick = |state| format!("tick,0x7f0010,5000,0,0x0,{state},0x1010\n");
    for (state, name, expected) in [
        (1, "hot;(garbage collector);[libc.so.6]", Category::Gc),
        (2, "hot;(parser);[libc.so.6]", Category::Compiler),
        (3, "hot;(bytecode compiler);[libc.so.6]", Category::Compiler),
        (4, "hot;(compiler);[libc.so.6]", Category::Compiler),
        (5, "hot;[libc.so.6]", Category::System),
        (6, "hot;[libc.so.6]", Category::System),
        (7, "hot;(atomics wait);[libc.so.6]", Category::Idle),
        (8, "hot;(idle);[libc.so.6]", Category::Idle),
        (9, "hot;(logging);[libc.so.6]", Category::System),
        (10, "hot;(idle);[libc.so.6]", Category::Idle),
        (11, "hot;[libc.so.6]", Category::System),
    ] {
        assert_eq!(stack_of(&tick(state)), name);
        assert_eq!(category(&tick(state)), expected, "{name}");
    }
}

/// V8 renumbered its states twice.
#[test]
fn states_of_older_versions() {
    for (version, state, name) in [
        ("6,2,414,78", 2, "(compiler);[unknown]"),
        ("6,2,414,78", 4, "[unknown]"),
        ("6,2,414,78", 5, "(idle);[unknown]"),
        ("6,2,414,78", 6, "(parser);[unknown]"),
        ("6,2,414,78", 7, "(bytecode compiler);[unknown]"),
        ("6,8,275,32,-node.59", 2, "(parser);[unknown]"),
        ("7,8,279,23,-node.57", 7, "(idle);[unknown]"),
        ("8,4,371,23,-node.88", 7, "(atomics wait);[unknown]"),
    ] {
        let text = format!("v8-version,{version},0\ntick,0x10,5000,0,0x0,{state}\n");
        assert_eq!(stacks(&read(text.as_bytes())), [name], "{version}, {state}");
    }
}

#[test]
fn code_moves_and_goes() {
    let tick = "tick,0x5010,5000,0,0x0,0\ntick,0x1010,6000,0,0x0,0\n";
    assert_eq!(stacks(&log(tick)), ["[unknown]", "hot"]);
    assert_eq!(stacks(&log(&format!("code-move,0x1000,0x5000\n{tick}"))), ["hot", "[unknown]"]);
    assert_eq!(stacks(&log(&format!("code-delete,0x1000\n{tick}"))), ["[unknown]", "[unknown]"]);
    assert_eq!(stacks(&log(&format!("sfi-move,0x9000,0x9900\n{tick}"))), ["[unknown]", "hot"]);
    assert_eq!(stacks(&log(&format!("code-move,0x7777,0x1000\n{tick}"))), ["[unknown]", "hot"]);
}

/// An address means what stood there at the tick's time; new code replaces all that it overlaps.
#[test]
fn new_code_replaces_old() {
    let lines = "tick,0x1010,5000,0,0x0,0\n\
        code-creation,JS,9,5500,0x1080,4096,wide /srv/b.js:1:2,0x9200,^\n\
        tick,0x1010,6000,0,0x0,0\ntick,0x1090,6001,0,0x0,0\ntick,0x2010,6002,0,0x0,0\n";
    assert_eq!(stacks(&log(lines)), ["hot", "[unknown]", "wide", "wide"]);
    let tier = "code-creation,JS,9,5500,0x1000,256,hot /srv/app.js:7:15,0x9000,+\ntick,0x1010,6000,0,0x0,0\n";
    let profile = log(tier);
    assert_eq!(profile.frames().tier, [Tier::Maglev]);
    assert_eq!(profile.frames().category, [Category::App]);
}

#[test]
fn names() {
    for (rest, name, marker, is_function) in [
        ("burnA /srv/a.js:7:15,0x39e3,*", "burnA /srv/a.js:7:15", "*", true),
        ("a,b /srv/a,b.js:7:15,0x39e3,~", "a,b /srv/a,b.js:7:15", "~", true),
        (",0x31312e30e298,", "", "", true),
        ("x /srv/a.js:1:1,0x1,o+'", "x /srv/a.js:1:1", "o+'", true),
        ("[ \\x2C]+", "[ ,]+", "", false),
        ("a,b", "a,b", "", false),
        ("a,0x12,b", "a,0x12,b", "", false),
        ("(?:^|\\/)\\.?$", "(?:^|\\/)\\.?$", "", false),
        ("\\\\besm\\\\b", "\\besm\\b", "", false),
        ("\"say \"\"a,b\"\" /srv/a.js:1\",0x12,~", "say \"a,b\" /srv/a.js:1", "~", true),
        ("\"LoadIC\"", "LoadIC", "", false),
    ] {
        let text = code_text(rest.as_bytes()).expect(rest);
        assert_eq!(
            (&*text.name, text.marker, text.is_function),
            (name, marker, is_function),
            "{rest}"
        );
    }
    assert_eq!(code_text(b"\"open"), None);
}

#[test]
fn escapes() {
    for (text, plain) in [
        ("plain", "plain"),
        ("a\\nb", "a\nb"),
        ("\\u4E2D\\u6587", "中文"),
        ("\\uD83D\\uDE00!", "😀!"),
        ("\\uD83Dx", "\u{fffd}x"),
        ("\\xE9\\x", "é\\x"),
        ("\\u12\\", "\\u12\\"),
        ("\\u+123", "\\u+123"),
        ("\\x中", "\\x中"),
    ] {
        assert_eq!(unescape(text.as_bytes()), plain);
    }
    let mut fields = Fields::of(b"\"a,b\",1");
    assert_eq!(
        (fields.text().as_deref(), fields.number(), fields.next()),
        (Some("a,b"), Some(1), None)
    );
}

#[test]
fn frame_addresses() {
    for (text, expected) in [
        ("0x10", Some(16)),
        ("+10", Some(116)),
        ("-0x10", Some(84)),
        ("10", None),
        ("0x", None),
        ("+", None),
    ] {
        assert_eq!(frame_address(text.as_bytes(), 100), expected, "{text}");
    }
}

#[test]
fn the_interval_may_come_late() {
    let profile = read(
        &b"v8-version,1,2,3,4,0\ntick,0x1,100,0,0x0,0\nprofiler,\"begin\",250\nprofiler,\"end\"\n"
            [..],
    );
    let samples = &profile.lanes()[0].samples;
    assert_eq!(
        (samples.weight.as_slice(), profile.meta().interval_ns),
        (&[250_000][..], Some(250_000))
    );
    assert_eq!(profile.meta().v8_version.as_deref(), Some("1.2.3.4"));
}

/// Logs behind each other are isolates of their own: no code of one is seen in another.
#[test]
fn several_isolates() {
    let worker = "v8-version,12,4,254,21,-node.57,0\nprofiler,begin,500\n\
        code-creation,Eval,9,1,0x5000,16, node:internal/main/worker_thread:1:1,0x9,~\n\
        tick,0x1010,5000,0,0x0,0,0x5001\n";
    let profile = log(&format!("tick,0x1010,4000,0,0x0,0\n{worker}{worker}"));
    assert_eq!(stacks(&profile), ["hot", "(top level);[unknown]", "(top level);[unknown]"]);
    let threads: BTreeMap<&str, Role> =
        profile.threads().iter().map(|row| (profile.text(row.name), row.role)).collect();
    let expected = [("node", Role::MainLoop), ("worker", Role::Worker), ("worker 2", Role::Worker)];
    assert_eq!(threads, BTreeMap::from(expected));
    assert_eq!(profile.lanes()[0].samples.weight, [1_000_000, 500_000, 500_000]);
}

/// `cat` puts the next log behind a line that was cut off.
#[test]
fn isolates_behind_a_cut_line() {
    let profile = log(
        "tick,0x1010,4000,0,0x0,0\ntick,0x1010,50v8-version,12,4,254,21,-node.57,0\ntick,0x1010,4000,0,0x0,0\n",
    );
    assert_eq!(stacks(&profile), ["hot", "[unknown]"]);
    assert_eq!(profile.threads().len(), 2);
    assert_eq!(profile.meta().losses.damage, ["line 9 is cut off: “tick,0x1010,50”"]);
}

#[test]
fn damage_is_reported_with_its_line() {
    for (lines, sentence) in [
        ("tick,0x10", "line 8 is cut off: “tick,0x10”"),
        ("tick,zz,1,0,0x0,0\n", "line 8 was not understood: “tick,zz,1,0,0x0,0”"),
        ("tick,0x10,1,0,0x0\n", "line 8 was not understood: “tick,0x10,1,0,0x0”"),
        ("tick,0x10,1,0,0x0,0,bad\n", "line 8 was not understood: “tick,0x10,1,0,0x0,0,bad”"),
        ("code-creation,JS,9,1\n", "line 8 was not understood: “code-creation,JS,9,1”"),
        ("code-move,0x1\n", "line 8 was not understood: “code-move,0x1”"),
        ("{}\n", "line 8 was not understood: “{}”"),
    ] {
        assert_eq!(log(lines).meta().losses.damage, [sentence]);
    }
    for lines in [
        "",
        "\n",
        "code-source-info,0x1,2\n",
        "LoadIC,0x1\n",
        "script-source,1,a",
        "heap-capacity,1\r\n",
    ] {
        assert_eq!(log(lines).meta().losses.damage, Vec::<String>::new(), "{lines}");
    }
    assert_eq!(log("tick,0x10,1,0,0x0,0,overflow\n").meta().losses.lost, 1);
}

#[test]
fn unnamed_frames_have_a_reason() {
    let profile = log("tick,0x400010,5000,0,0x0,6,0x999999\n");
    let unnamed = &profile.meta().losses.unnamed;
    assert_eq!(unnamed["no symbol in /opt/node/bin/node"], 1);
    assert_eq!(unnamed["nothing is mapped at the address"], 1);
}

#[test]
fn preprocessed() {
    let text = br#"{"code": [
        {"name": "/usr/lib/libc.so.6", "type": "SHARED_LIB"},
        {"name": "node::Start(int, char**)", "type": "CPP"},
        {"name": "LoadIC", "timestamp": 1, "type": "CODE", "kind": "Builtin"},
        {"name": "hot /srv/app.js:7:15", "type": "JS", "kind": "Opt", "func": 0, "tm": 5, "source": {"fns": []}}],
        "functions": [{"name": "hot /srv/app.js:7:15", "codes": [3]}],
        "ticks": [{"tm": 2000, "vm": 0, "s": [2, 5, 3, 17, -1, 4096, 1, 8]},
                  {"tm": 1000, "vm": 1, "s": [0, 99, 3, 17]}],
        "scripts": [null]}"#;
    let profile = read_preprocessed(&text[..], &Budget::default());
    assert_eq!(profile.check(), Ok(()));
    assert_eq!(profile.meta().losses.damage, Vec::<String>::new());
    let expected =
        ["hot;(garbage collector);[libc.so.6]", "node::Start(int, char**);[unknown];hot;LoadIC"];
    assert_eq!(stacks(&profile), expected);
    assert!(profile.frames().tier.contains(&Tier::Turbofan));
    let cut = read_preprocessed(&text[..text.len() - 60], &Budget::default());
    assert_eq!((cut.lanes()[0].samples.len(), cut.meta().losses.damage.len()), (1, 1));
}

#[test]
fn first_bytes() {
    assert!(looks_like(START.as_bytes()) && !looks_like(b"node 1 1.0: cpu-clock:\n"));
    for (text, expected) in [
        ("{\n  \"code\": [\n", true),
        ("{\"code\":[", true),
        ("{\"code\": 1}", false),
        ("{\"nodes\": []}", false),
        ("[{\"code\": []}]", false),
        ("", false),
    ] {
        assert_eq!(looks_like_preprocessed(text.as_bytes()), expected, "{text}");
    }
}

/// Our own process, mapped as V8 would log it.
#[cfg(target_os = "linux")]
mod libraries {
    use super::*;

    struct Mapped {
        path: String,
        start: u64,
        end: u64,
        offset: u64,
    }

    /// Where our own code is.
    fn own_code(address: u64) -> Mapped {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let all = maps.lines().map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let (start, end) = words[0].split_once('-').unwrap();
            let path = words.get(5).unwrap_or(&"").to_string();
            Mapped { path, start: number(start), end: number(end), offset: number(words[2]) }
        });
        all.into_iter().find(|mapped| (mapped.start..mapped.end).contains(&address)).unwrap()
    }

    fn read_with(sources: &Sources, path: &str, start: u64, end: u64, address: u64) -> Profile {
        let text = format!(
            "v8-version,12,4,254,21,-node.57,0\nshared-library,{path},{start:#x},{end:#x},0\n\
             tick,{address:#x},5000,0,0x0,6,{:#x}\ntick,{:#x},6000,0,0x0,6\n",
            address + 1,
            address + 2
        );
        let profile = super::super::read(text.as_bytes(), &Budget::default(), sources);
        assert_eq!(profile.check(), Ok(()));
        profile
    }

    #[test]
    fn functions_are_named() {
        let address = looks_like as fn(&[u8]) -> bool as usize as u64;
        let Mapped { path, start, end, offset } = own_code(address);
        let sources = Sources::default();
        let name = "formats::prof_log::looks_like";
        // Since Node 10 the start is where the whole file would be; before, it is that of the code.
        for start in [start - offset, start] {
            let profile = read_with(&sources, &path, start, end, address);
            assert_eq!(stacks(&profile), [format!("{name};{name}"), name.to_owned()]);
            assert_eq!((profile.frames().len(), profile.meta().losses.unnamed.len()), (1, 0));
        }
    }

    #[test]
    fn without_the_file_the_library_stands_for_its_functions() {
        let address = looks_like as fn(&[u8]) -> bool as usize as u64;
        let Mapped { path, start, end, offset } = own_code(address);
        let start = start - offset;
        let file = path.rsplit('/').next().unwrap();
        for (sources, path, end, reason) in [
            (Sources::nowhere(), &path, end, format!("no symbol in {path}")),
            (
                Sources::default(),
                &format!("/nowhere/{file}"),
                end,
                format!("no symbol in /nowhere/{file}"),
            ),
            // Another build: its code has another size.
            (
                Sources::default(),
                &path,
                end + (1 << 24),
                format!("the file {path} has changed since the recording"),
            ),
        ] {
            let profile = read_with(&sources, path, start, end, address);
            assert_eq!(stacks(&profile), [format!("[{file}];[{file}]"), format!("[{file}]")]);
            assert_eq!(profile.meta().losses.unnamed, BTreeMap::from([(reason, 3)]));
        }
    }

    #[test]
    fn the_root_comes_first() {
        let address = looks_like as fn(&[u8]) -> bool as usize as u64;
        let Mapped { path, start, end, offset } = own_code(address);
        let (folder, file) = path.rsplit_once('/').unwrap();
        let sources = Sources { root: Some(folder.into()), ..Sources::default() };
        let profile = read_with(&sources, &format!("/{file}"), start - offset, end, address);
        assert_eq!(stacks(&profile)[1], "formats::prof_log::looks_like");
    }
}

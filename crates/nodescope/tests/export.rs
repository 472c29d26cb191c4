//! `nodescope export`: every form, what it does to files, and what it refuses.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{
    self, Scratch, fails, input, json, nodescope, recording, run, stderr, stdout, succeeds,
};

/// The word for --to, file names that mean the same, how the bytes are recognised, and what is printed on stderr.
type Form = (&'static str, &'static [&'static str], fn(&[u8]) -> bool, &'static [&'static str]);

/// What --to takes.
const FORMS: &[&str] =
    &["nodescope", "html", "svg", "folded", "cpuprofile", "speedscope", "pprof", "firefox", "json"];

#[test]
fn every_form_by_ending_and_by_name() {
    let scratch = Scratch::new("forms");
    let path = input("node22-gc");
    let rows: &[Form] = &[
        (
            "svg",
            &["flame.svg", "FLAME.SVG"],
            |bytes| bytes.windows(4).any(|part| part == b"<svg"),
            &[],
        ),
        ("html", &["page.html", "a.htm"], |bytes| bytes.starts_with(b"<!doctype html>"), &[]),
        ("folded", &["a.folded", "a.collapsed"], |bytes| bytes.starts_with(b"node;"), &[]),
        ("nodescope", &["a.nodescope"], |bytes| bytes.starts_with(b"nodescop"), &[]),
        ("json", &["a.json"], |bytes| parsed(bytes)["samples"] == 514, &[]),
        (
            "cpuprofile",
            &["a.cpuprofile", "A.CpuProfile"],
            |bytes| parsed(bytes)["nodes"][0]["callFrame"]["functionName"] == "(root)",
            &["a .cpuprofile holds one thread", "addresses, modules and V8 tiers are left out"],
        ),
        (
            "speedscope",
            &["a.speedscope.json", "a.speedscope"],
            |bytes| {
                parsed(bytes)["$schema"] == "https://www.speedscope.app/file-format-schema.json"
            },
            &["speedscope puts the samples of a thread one behind another"],
        ),
        (
            "pprof",
            &["a.pb.gz", "a.pb", "a.pprof"],
            |bytes| unpacked(bytes).windows(11).any(|part| part == b"nanoseconds"),
            &["pprof has no times"],
        ),
        (
            "firefox",
            &["a.firefox.json.gz"],
            |bytes| parsed(&unpacked(bytes))["meta"]["preprocessedProfileVersion"] == 60,
            &[],
        ),
    ];
    for (form, names, is_right, notes) in rows {
        let streamed = run(&["export", &path, "-o", "-", "--to", form]);
        assert!(
            streamed.status.success() && is_right(&streamed.stdout),
            "{form}: {}",
            stderr(&streamed)
        );
        let messages = stderr(&streamed);
        assert_eq!(messages.lines().count(), notes.len(), "{form}: {messages}");
        for note in *notes {
            assert_eq!(messages.matches(note).count(), 1, "{form}: {note}: {messages}");
        }
        for name in *names {
            let out = scratch.path(name);
            assert_eq!(
                succeeds(&["export", &path, "-o", &out]),
                "",
                "{form} prints nothing on stdout"
            );
            assert_eq!(fs::read(&out).unwrap(), streamed.stdout, "{form} as {name}");
            // The second time over the first.
            succeeds(&["export", &path, "-o", &out]);
            assert_eq!(fs::read(&out).unwrap(), streamed.stdout, "{form} is the same every time");
        }
        let odd = scratch.path(&format!("{form}.txt"));
        succeeds(&["export", &path, "-o", &odd, "--to", form]);
        assert_eq!(fs::read(&odd).unwrap(), streamed.stdout, "--to {form} wins over the ending");
    }
    let left: Vec<_> =
        scratch.0.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".part")), "{left:?}");
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// What one form writes, another command opens: the report stays, but for what the form cannot carry.
#[test]
fn what_is_exported_opens_again() {
    let scratch = Scratch::new("again");
    for case in
        ["node22-http", "cpuprofile-node22-known-shares", "node22-prof", "pprof-datadog-time"]
    {
        let busiest = |path: &str| {
            let report: Value =
                serde_json::from_str(&stdout(&run(&["report", path, "--json"]))).unwrap();
            let row = &report["functions"][0];
            (row["name"].clone(), row["file"].clone(), row["self"].clone())
        };
        for name in ["a.speedscope.json", "a.pb.gz", "a.nodescope"] {
            let out = scratch.path(name);
            assert!(
                run(&["export", &input(case), "-o", &out]).status.success(),
                "{case} as {name}"
            );
            assert_eq!(busiest(&out), busiest(&input(case)), "{case} as {name}");
        }
        let out = scratch.path("a.cpuprofile");
        assert!(run(&["export", &input(case), "-o", &out]).status.success(), "{case}");
        assert!(run(&["report", &out]).status.success(), "{case}");
    }
}

/// Each once: other events, what has no unit or times, markers.
#[test]
fn what_a_form_cannot_carry_is_reported_once() {
    let rows: &[(&str, &str, &[&str])] = &[
        (
            "perf-multi-event",
            "speedscope",
            &["showing context-switches", "one behind another", "no unit for context-switches"],
        ),
        ("perf-multi-event", "pprof", &["pprof has no times"]),
        ("perf-multi-event", "firefox", &["showing context-switches"]),
        ("perf-multi-event", "cpuprofile", &["showing context-switches", "addresses, modules"]),
        ("folded-simple", "firefox", &["the recording has no times"]),
        ("folded-simple", "cpuprofile", &["the recording has no times"]),
        ("folded-simple", "pprof", &[]),
        ("perf-records", "speedscope", &["one behind another", "speedscope has no markers"]),
        ("perf-records", "pprof", &["pprof has no times", "pprof has no markers"]),
        ("cpuprofile-node22-known-shares", "firefox", &["no place for ticks on lines"]),
    ];
    for (case, form, notes) in rows {
        let output = run(&["export", &input(case), "-o", "-", "--to", form]);
        assert!(output.status.success(), "{case} as {form}: {}", stderr(&output));
        let messages = stderr(&output);
        for note in *notes {
            assert_eq!(messages.matches(note).count(), 1, "{case} as {form}: {note}: {messages}");
        }
        let lines: std::collections::BTreeSet<&str> = messages.lines().collect();
        assert_eq!(lines.len(), messages.lines().count(), "{case} as {form}: twice: {messages}");
        assert!(!notes.is_empty() || messages.is_empty(), "{case} as {form}: {messages}");
    }
}

#[test]
fn a_recording_of_our_own_reports_the_same() {
    let scratch = Scratch::new("ours");
    for case in ["node22-http", "perf-multi-event", "node22-hostile-names", "bpftrace-ustack"] {
        let ours = scratch.path("ours.nodescope");
        run(&["export", &input(case), "-o", &ours]);
        assert_eq!(succeeds(&["report", &ours]), succeeds(&["report", &input(case)]), "{case}");
        let folded =
            |path: &str| stdout(&run(&["export", path, "-o", "-", "--to", "folded", "--all"]));
        assert_eq!(folded(&ours), folded(&input(case)), "{case}");
    }
}

#[test]
fn folded_stacks_have_their_marks() {
    let path = input("perf-pidtid");
    let fold = |flags: &[&str]| {
        let command: Vec<&str> =
            [&["export"], flags, &[&path, "-o", "-", "--to", "folded"]].concat();
        succeeds(&command)
    };
    let pid = json(&["report", &path, "--json"])["threads"][0]["pid"].to_string();
    let plain = fold(&[]);
    assert!(plain.contains("node;") && !plain.contains("_[j]") && !plain.contains("_[k]"));
    assert!(fold(&["--jit"]).contains("_[j]") && !fold(&["--jit"]).contains("_[k]"));
    assert!(fold(&["--kernel"]).contains("_[k]") && !fold(&["--kernel"]).contains("_[j]"));
    assert_eq!(fold(&["--all"]), fold(&["--kernel", "--jit"]));
    // People who come from stackcollapse-perf.pl write a bare --pid in front of the file.
    let labelled = fold(&["--pid"]);
    assert!(labelled.lines().all(|line| line.contains(&format!("-{pid};"))), "{labelled}");
    assert!(fold(&["--tid"]).lines().all(|line| line.contains(&format!("-{pid}/"))));
    let command = ["export", &path, "-o", "-", "--to", "folded", "--pid"];
    assert_eq!(succeeds(&command), labelled, "--pid at the end");
    let command = ["export", &path, "--pid", &pid, "-o", "-", "--to", "folded"];
    assert_eq!(succeeds(&command), plain, "--pid with a number narrows");
    let unknown =
        succeeds(&["export", &input("node22-noflags"), "-o", "-", "--to", "folded", "--addrs"]);
    assert!(unknown.contains(" <"), "addresses stand where names are missing");
}

#[test]
fn several_events_are_not_left_out_silently() {
    let output = run(&["export", &input("perf-multi-event"), "-o", "-", "--to", "folded"]);
    assert!(output.status.success());
    let note = stderr(&output);
    assert!(
        note.contains("context-switches (211 samples)") && note.contains("page-faults (91"),
        "{note}"
    );
    assert!(note.contains("--event"), "{note}");
    let output = run(&[
        "export",
        &input("perf-multi-event"),
        "-o",
        "-",
        "--to",
        "folded",
        "--event",
        "page-faults",
    ]);
    assert_eq!(stderr(&output), "");
    assert!(stdout(&run(&["report", &input("perf-multi-event")])).contains("Other events"));
}

#[test]
fn options_of_another_form_are_refused() {
    let path = input("node22-gc");
    let rows: &[(&[&str], &str, &str)] = &[
        (&["--to", "svg", "--all"], "--all is for folded stacks", "--to folded"),
        (&["--to", "svg", "--tid"], "--tid is for folded stacks", "--to folded"),
        (&["--to", "json", "--pid"], "--pid without a number is for folded stacks", "--to folded"),
        (&["--to", "folded", "--title", "x"], "--title is for the flame graph", "--to svg"),
        (&["--to", "json", "--width", "800"], "--width is for the flame graph", "--to svg"),
        (&["--to", "folded", "--colors", "hot"], "--colors is for the flame graph", "--to svg"),
        (&["--to", "nodescope", "--range", "1s.."], "cannot be narrowed", "--range"),
        (&["--to", "nodescope", "--search", "x"], "cannot be narrowed", ""),
        (&["--to", "html", "--thread", "main"], "cannot be narrowed", "drag over the heat map"),
        (&["--to", "svg", "--colors", "plaid"], "no palette plaid", "category"),
        (&["--to", "svg", "--min-width", "100"], "--min-width 100", "0.1"),
        (&["--to", "svg", "--min-width", "-1"], "-1", ""),
        (&["--to", "svg", "--width", "7"], "7", ""),
        (&["--to", "svg", "--lens", "mine"], "no lens mine", "code, packages, node, everything"),
        (&["--to", "json", "--lens", "code"], "--lens is for the flame graph", "--to svg"),
        (&["--to", "folded", "--lens", "code", "--all"], "no frames to mark", "--lens everything"),
        (&["--to", "png"], "cannot write png", "svg"),
        (&[], "stdout has no ending", "--to"),
    ];
    for (arguments, sentence, hint) in rows {
        fails(&[&["export", &path, "-o", "-"], *arguments].concat(), 2, sentence, hint);
    }
    let scratch = Scratch::new("endings");
    for name in ["flame.png", "flame", "svg"] {
        let out = scratch.path(name);
        for word in FORMS {
            fails(&["export", &path, "-o", &out], 2, "does not say what to write", word);
            fails(&["export", &path, "-o", &out, "--to", "png"], 2, "cannot write png", word);
        }
        assert!(!Path::new(&out).exists());
    }
    fails(&["export", &path], 2, "--output", "");
}

#[test]
fn flame_graph_options_show_in_the_picture() {
    let path = input("node22-gc");
    let draw = |flags: &[&str]| {
        let words = ["export", &path, "-o", "-", "--to", "svg", "--lens", "everything"];
        succeeds(&[&words, flags].concat())
    };
    let plain = draw(&[]);
    assert!(draw(&["--title", "Black Friday <b>"]).contains("Black Friday &lt;b&gt;"));
    assert!(draw(&["--width", "777"]).contains("width=\"777\""));
    let frames = |picture: &str| picture.matches("<title>").count();
    assert!(frames(&draw(&["--min-width", "20"])) < frames(&plain));
    for flags in [&["--inverted"][..], &["--reverse"], &["--colors", "hot"], &["--search", "churn"]]
    {
        assert_ne!(draw(flags), plain, "{flags:?}");
    }
}

/// A lens folds stacks and keeps their weight; folded stacks are whole where none is asked for.
#[test]
fn a_lens_shows_less_of_a_stack() {
    let path = input("node22-http");
    let fold = |flags: &[&str]| {
        let words = [&["export", &path, "-o", "-", "--to", "folded"], flags].concat();
        succeeds(&words)
    };
    let weight = |text: &str| -> u64 {
        let count = |line: &str| line.rsplit_once(' ').and_then(|(_, count)| count.parse().ok());
        text.lines().map(|line| count(line).unwrap_or(0u64)).sum()
    };
    let boxes = |text: &str| text.matches(';').count();
    let whole = fold(&["--physical"]);
    assert_eq!(fold(&["--lens", "everything"]), whole);
    let texts = ["code", "packages", "node"].map(|lens| fold(&["--lens", lens]));
    for text in &texts {
        assert_eq!(weight(text), weight(&whole));
    }
    assert!(boxes(&texts[0]) < boxes(&texts[1]) && boxes(&texts[1]) < boxes(&texts[2]));
    assert!(texts[0].lines().any(|line| line.starts_with("HTTP request ▸ ")), "{}", texts[0]);
    assert!(texts[0].contains(" frames"), "{}", texts[0]);
    let draw =
        |flags: &[&str]| succeeds(&[&["export", &path, "-o", "-", "--to", "svg"], flags].concat());
    assert_eq!(draw(&[]), draw(&["--lens", "code"]));
    assert!(draw(&[]).contains(">HTTP request ▸ ") && !draw(&[]).contains("uv_run"));
    assert!(draw(&["--lens", "everything"]).contains("uv_run"));
}

#[test]
fn its_own_input_is_never_overwritten() {
    let scratch = Scratch::new("own");
    let path = scratch.file("a.nodescope", &recording());
    let other_spelling = format!("{}/./a.nodescope", scratch.0.display());
    for out in [&path, &other_spelling] {
        fails(&["export", &path, "-o", out], 2, "is the recording itself", "another OUT");
    }
    assert_eq!(fs::read(&path).unwrap(), recording());
}

/// Exports reveal much about a service: only their owner may read them, and no link redirects them.
#[cfg(unix)]
#[test]
fn files_are_private_and_links_are_replaced() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new("private");
    let path = input("node22-gc");
    for name in ["a.svg", "a.folded", "a.nodescope", "a.json"] {
        let out = scratch.path(name);
        succeeds(&["export", &path, "-o", &out]);
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    let victim = scratch.file("victim", b"precious");
    for target in [victim.as_str(), "dangling"] {
        let out = scratch.path("link.svg");
        let _ = fs::remove_file(&out);
        symlink(target, &out).unwrap();
        succeeds(&["export", &path, "-o", &out]);
        assert!(fs::symlink_metadata(&out).unwrap().is_file(), "the link is replaced");
    }
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    assert!(!scratch.0.join("dangling").exists());
    let link_to_input = scratch.path("input.svg");
    let own = scratch.file("own.nodescope", &recording());
    symlink(&own, &link_to_input).unwrap();
    fails(&["export", &own, "-o", &link_to_input], 2, "is the recording itself", "");
    let loose = scratch.file("loose.svg", b"");
    fs::set_permissions(&loose, fs::Permissions::from_mode(0o644)).unwrap();
    succeeds(&["export", &path, "-o", &loose]);
    assert_eq!(
        fs::metadata(&loose).unwrap().permissions().mode() & 0o777,
        0o600,
        "an old file's mode goes"
    );
}

#[test]
fn what_cannot_be_written_names_the_place() {
    let scratch = Scratch::new("unwritable");
    let path = input("node22-gc");
    let folder = scratch.path("folder.svg");
    fs::create_dir(&folder).unwrap();
    fails(
        &["export", &path, "-o", &folder],
        1,
        &format!("cannot write {folder}: it is a folder"),
        "",
    );
    let nowhere = scratch.path("no/such/folder/a.svg");
    fails(&["export", &path, "-o", &nowhere], 1, &format!("cannot write {nowhere}"), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_place() {
    let path = input("node22-http");
    for form in ["svg", "folded", "nodescope", "json"] {
        fails(
            &["export", &path, "-o", "/dev/full", "--to", form],
            1,
            "cannot write /dev/full: No space left",
            "",
        );
        let command = ["export", &path, "-o", "-", "--to", form];
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = nodescope(&command).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{form}");
        assert!(
            stderr(&output).contains("cannot write stdout: No space left"),
            "{}",
            stderr(&output)
        );
    }
    for command in [
        &["report", path.as_str()][..],
        &["report", &path, "--json"],
        &["man"],
        &["completions", "bash"],
        &[],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = nodescope(command).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(
            stderr(&output).contains("cannot write stdout"),
            "{command:?}: {}",
            stderr(&output)
        );
    }
}

/// `nodescope … | head -1` is no failure: nothing is printed.
#[test]
fn a_broken_pipe_is_silent() {
    let path = input("node22-http");
    let commands: &[&[&str]] = &[
        &["export", &path, "-o", "-", "--to", "folded"],
        &["export", &path, "-o", "-", "--to", "svg"],
        &["export", &path, "-o", "-", "--to", "nodescope"],
        &["export", &path, "-o", "-", "--to", "json"],
        &["report", &path, "--json"],
        &["report", &path, "-n", "0"],
        &["completions", "zsh"],
        &["man"],
        &["--help"],
    ];
    for command in commands {
        let mut child =
            nodescope(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut messages = String::new();
        child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        assert_eq!(messages, "", "{command:?}");
        assert!(child.wait().unwrap().code().is_some(), "{command:?}: ended by a signal");
    }
}

/// OUT.part of a recorder that was killed, in the middle of writing a chunk: a recording by the inspector.
#[test]
fn a_growing_recording_that_was_cut_off_opens() {
    let growing = include_bytes!("../../profile/tests/sample/growing.nodescope.part");
    let scratch = Scratch::new("growing");
    let whole = scratch.file("whole.nodescope.part", growing);
    let part = scratch.file("a.nodescope.part", &growing[..growing.len() - 20]);
    let samples = program::samples(&[&part]);
    assert!(samples > 200 && samples < program::samples(&[&whole]), "{samples}");
    let output = run(&["report", &part]);
    assert!(output.status.success());
    let messages = stderr(&output);
    assert!(messages.contains("the file ends in the middle of a chunk"), "{messages}");
    for name in ["a.svg", "a.folded", "a.cpuprofile", "a.html", "a.nodescope"] {
        let out = scratch.path(name);
        let output = run(&["export", &part, "-o", &out]);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
    // A finished recording of what there is, with the damage.
    let finished = scratch.path("a.nodescope");
    assert_eq!(program::samples(&[&finished]), samples);
    let read = profile::file::read(&fs::read(&finished).unwrap()).unwrap();
    assert!(
        read.meta().losses.damage.concat().starts_with("damaged at byte "),
        "{:?}",
        read.meta().losses
    );
}

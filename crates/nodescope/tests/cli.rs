//! The built program as people and scripts meet it: what it prints where, its exit status, and what it does to
//! files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// Cases that differ in what a report shows: packages, addons, several events, hostile and wide names, damage.
const SHOWN: &[&str] = &[
    "node22-http",
    "node22-addon",
    "node22-cluster",
    "node22-hostile-names",
    "node22-noflags",
    "node22-pnpm",
    "node22-unicode",
    "node20-yarn-pnp",
    "node0.12-http",
    "perf-multi-event",
    "perf-header-comments",
    "perf-srcline",
    "perf-vm",
    "perf-cut",
    "folded-odd",
    "dtrace-stacks",
    "bpftrace-ustack",
];

// ---- report ------------------------------------------------------------------------------------------------

#[test]
fn a_report_fits_the_width() {
    for case in SHOWN {
        for width in [60, 80, 160] {
            for rows in ["15", "0"] {
                let output = nodescope(&["report", &input(case), "-n", rows])
                    .env("COLUMNS", width.to_string())
                    .output()
                    .unwrap();
                for line in stdout(&output).lines() {
                    assert!(line.width() <= width, "{case}: {} columns of {width}: {line}", line.width());
                }
            }
        }
    }
}

#[test]
fn a_report_says_what_there_is() {
    let text = succeeds(&["report", &input("node22-http")]);
    for part in ["695 samples of cpu-clock", "3.0 s", "Where the time went", "Functions", "npm packages", "Threads"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    for name in ["express", "@babel/parser", "longest_match", "main loop", "libuv pool"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let lines = succeeds(&["report", &input("perf-srcline")]);
    assert!(lines.contains("\nLines\n"), "{lines}");
}

/// Whatever functions, threads and hosts are called, no terminal obeys them.
#[test]
fn no_control_byte_but_the_newline() {
    for case in SHOWN {
        for arguments in [&["-n", "0"][..], &["--color", "never"], &["--json"]] {
            let path = input(case);
            let output = run(&[&["report", &path], arguments].concat());
            let is_harmless = |byte: &u8| *byte == b'\n' || (*byte >= b' ' && *byte != 0x7f);
            assert!(output.stdout.iter().all(is_harmless), "{case} {arguments:?}");
            assert!(output.stderr.iter().all(is_harmless), "{case} {arguments:?} on stderr");
            let hostile = |character: char| matches!(character, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}');
            if arguments != ["--json"] {
                assert!(!stdout(&output).contains(hostile), "{case} {arguments:?}");
            }
        }
    }
}

#[test]
fn colours_are_for_terminals_and_on_demand() {
    let path = input("node22-http");
    let has_colours = |command: &mut Command| stdout(&command.output().unwrap()).contains("\u{1b}[");
    assert!(!has_colours(&mut nodescope(&["report", &path])), "a pipe is no terminal");
    assert!(!has_colours(&mut nodescope(&["report", &path, "--color", "never"])));
    assert!(has_colours(&mut nodescope(&["report", &path, "--color", "always"])));
    assert!(has_colours(nodescope(&["report", &path, "--color", "always"]).env("NO_COLOR", "1")), "typed wins");
    let coloured = succeeds(&["report", &path, "--color", "always"]);
    assert_eq!(without_colours(&coloured), succeeds(&["report", &path, "--color", "never"]));
    fails(&["report", &path, "--color", "sometimes"], 2, "sometimes", "always");
}

#[test]
fn rows_and_order_can_be_chosen() {
    let path = input("node22-http");
    let short = succeeds(&["report", &path, "-n", "2"]);
    assert!(short.contains("more; -n 0 shows all"), "{short}");
    let long = succeeds(&["report", &path, "-n", "0"]);
    assert!(!long.contains("more; -n 0 shows all") && long.lines().count() > 500);
    let shares = |sort: &str, column: &str| -> Vec<f64> {
        let report = json(&["report", &path, "--json", "--sort", sort]);
        let rows = report["functions"].as_array().unwrap();
        rows.iter().map(|row| row[column].as_f64().unwrap()).collect()
    };
    assert!(shares("self", "self").is_sorted_by(|a, b| a >= b));
    assert!(shares("total", "total").is_sorted_by(|a, b| a >= b));
    assert!(!shares("self", "total").is_sorted_by(|a, b| a >= b));
    fails(&["report", &path, "--sort", "name"], 2, "name", "self");
    fails(&["report", &path, "-n", "many"], 2, "many", "");
}

/// The keys that scripts rely on.
#[test]
fn json_has_the_promised_shape() {
    for case in SHOWN {
        let report = json(&["report", &input(case), "--json"]);
        assert!(report["samples"].is_u64(), "{case}");
        assert!(report["duration_s"].is_f64(), "{case}");
        for count in ["lost", "throttled", "frames"] {
            assert!(report["losses"][count].is_u64(), "{case}: losses.{count}");
        }
        assert!(report["losses"]["damage"].is_array() && report["losses"]["unnamed"].is_object(), "{case}");
        for row in report["functions"].as_array().unwrap() {
            assert!(row["name"].is_string() && row["category"].is_string(), "{case}: {row}");
            for (key, is_right) in
                [("file", Value::is_string as fn(&Value) -> bool), ("line", Value::is_u64), ("package", Value::is_string)]
            {
                let value = row.get(key).unwrap_or_else(|| panic!("{case}: no {key} in {row}"));
                assert!(value.is_null() || is_right(value), "{case}: {row}");
            }
            check_shares(row);
        }
        for list in ["packages", "categories"] {
            for row in report[list].as_array().unwrap() {
                assert!(row["name"].is_string(), "{case}: {row}");
                check_shares(row);
            }
        }
        let own = |list: &str| -> f64 {
            report[list].as_array().unwrap().iter().map(|row| row["self"].as_f64().unwrap()).sum()
        };
        for whole in ["functions", "categories", "threads"] {
            assert!(own(whole) < 1.0 + 1e-9, "{case}: {whole} have {} of the time", own(whole));
        }
        for row in report["threads"].as_array().unwrap() {
            assert!(row["name"].is_string() && row["role"].is_string(), "{case}: {row}");
            assert!((0.0..=1.0).contains(&row["self"].as_f64().unwrap()), "{case}: {row}");
        }
    }
}

fn check_shares(row: &Value) {
    let (own, total) = (row["self"].as_f64().unwrap(), row["total"].as_f64().unwrap());
    assert!((0.0..=1.0).contains(&own) && (0.0..=1.0).contains(&total) && own <= total, "{row}");
}

#[test]
fn json_tells_what_is_known() {
    let report = json(&["report", &input("node22-known-shares"), "--json"]);
    assert_eq!(report["samples"], 1518);
    let first = &report["functions"][0];
    assert_eq!(
        (first["name"].as_str(), first["file"].as_str(), first["line"].as_u64(), first["category"].as_str()),
        (Some("burnA"), Some("/srv/shares/shares.js"), Some(7), Some("app"))
    );
    assert!((first["self"].as_f64().unwrap() - 758.0 / 1518.0).abs() < 1e-9);
    assert_eq!(report["threads"][0]["role"], "main");
    let report = json(&["report", &input("node22-pnpm"), "--json"]);
    let packages = report["packages"].as_array().unwrap();
    assert!(packages.iter().any(|row| row["name"] == "@babel/core"));
    let functions = report["functions"].as_array().unwrap();
    assert!(functions.iter().any(|row| row["package"] == "lodash" && row["category"] == "dependency"));
}

// ---- narrowing ---------------------------------------------------------------------------------------------

#[test]
fn narrowing_narrows() {
    let (http, pids, events) = (input("node22-http"), input("perf-pidtid"), input("perf-multi-event"));
    let whole = samples(&[&http]);
    assert_eq!(whole, 695);
    let thread = json(&["report", &http, "--json"])["threads"][0]["tid"].to_string();
    let narrowed: &[&[&str]] = &[
        &[&http, "--range", "1s..2s"],
        &[&http, "--range", "500ms.."],
        &[&http, "--range=..0.5"],
        &[&http, "--thread", "main"],
        &[&http, "--thread", "libuv-worker"],
        &[&http, "--thread", &thread],
        &[&http, "-t", "pool"],
        &[&http, "--search", "express"],
        &[&http, "-s", "(?i)JSON"],
        &[&http, "--category", "gc"],
        &[&http, "--category", "gc,kernel"],
    ];
    for arguments in narrowed {
        let some = samples(arguments);
        assert!(0 < some && some < whole, "{arguments:?}: {some}");
    }
    assert_eq!(samples(&[&http, "--range", "0s..1s"]) + samples(&[&http, "--range", "1s.."]), whole);
    assert_eq!(samples(&[&http, "-t", "main"]) + samples(&[&http, "-t", "libuv-worker"]), whole);
    assert_eq!(samples(&[&http, "-t", "main,libuv-worker"]), whole);
    assert_eq!(samples(&[&http, "--hide", "gc,kernel"]), whole, "hiding keeps every sample");
    let pid = json(&["report", &pids, "--json"])["threads"][0]["pid"].to_string();
    assert_eq!(samples(&[&pids, "--pid", &pid]), 114);
    assert_eq!(samples(&[&events]), 211);
    assert_eq!(samples(&[&events, "--event", "page-faults"]), 91);
    assert_eq!(samples(&[&events, "-e", "cpu-clock"]), 108);
}

#[test]
fn hiding_gives_time_to_the_caller() {
    let path = input("node22-gc");
    let gc = |arguments: &[&str]| {
        let report = json(&[&["report", &path, "--json"], arguments].concat());
        let row = report["categories"].as_array().unwrap().iter().find(|row| row["name"] == "gc").cloned();
        row.map_or(0.0, |row| row["self"].as_f64().unwrap())
    };
    assert!(gc(&[]) > 0.4);
    assert_eq!(gc(&["--hide", "gc"]), 0.0);
    assert!((gc(&["--category", "gc"]) - 1.0).abs() < 1e-9);
}

/// A wrong word is answered with what would be right; a right word that finds nothing, too.
#[test]
fn wrong_narrowing_is_explained() {
    let (http, folded) = (input("node22-http"), input("folded-simple"));
    let rows: &[(&[&str], i32, &str, &str)] = &[
        (&["--range", "5"], 2, "--range 5 is not a range", "12.5s..14s"),
        (&["--range", "2s..1s"], 2, "ends before it starts", "--range"),
        (&["--range", "a..b"], 2, "not a range", "--range"),
        (&["--range", "-1s..2s"], 2, "not a range", "--range"),
        (&["--range", "100s..200s"], 1, "no sample is left", "lasts 3.0 s"),
        (&["--thread", "nobody"], 1, "no thread is called nobody", "libuv-worker"),
        (&["--thread", "main,nobody"], 1, "no thread is called nobody", "node"),
        (&["--pid", "99999999"], 1, "no process 99999999", "--thread"),
        (&["--pid", "me"], 2, "me", ""),
        (&["--search", "("], 2, "not a regular expression", "\\("),
        (&["--search", "no such function"], 1, "no sample is left", "--search"),
        (&["--category", "garbage"], 2, "no category garbage", "gc"),
        (&["--hide", "garbage"], 2, "no category garbage", "gc"),
        (&["--category", "idle"], 1, "no sample is left", "leave out"),
        (&["--event", "cycles"], 1, "no event cycles", "cpu-clock"),
        (&["--threads", "0"], 2, "0", ""),
        (&["--no-such-option"], 2, "--no-such-option", ""),
    ];
    for (arguments, status, sentence, hint) in rows {
        fails(&[&["report", &http], *arguments].concat(), *status, sentence, hint);
        if *arguments != ["--pid", "me"] {
            fails(&[&["export", &http, "--to", "svg", "-o", "-"], *arguments].concat(), *status, sentence, hint);
        }
    }
    fails(&["export", &http, "--to", "svg", "-o", "-", "--pid=me"], 2, "--pid me is not a pid", "4140");
    fails(&["report", &folded, "--range", "0s..1s"], 1, "no times", "leave out --range");
    fails(&["report", &input("perf-pidtid"), "--pid", "1"], 1, "no process 1", "its pids are");
}

// ---- inputs ------------------------------------------------------------------------------------------------

#[test]
fn stdin_and_compression_change_nothing() {
    for case in ["node22-gc", "perf-zstd", "perf-gzip", "perf-tod", "folded-simple"] {
        let path = input(case);
        let from_file = succeeds(&["report", &path]);
        let piped = with_stdin(&["report", "-"], &fs::read(&path).unwrap());
        assert_eq!(stdout(&piped), from_file, "{case}");
        for threads in ["1", "2", "7"] {
            assert_eq!(succeeds(&["report", &path, "--threads", threads]), from_file, "{case}");
        }
    }
}

#[test]
fn inputs_that_cannot_be_opened_say_why() {
    let scratch = Scratch::new("inputs");
    let garbage: Vec<u8> = (0..4096u32).map(|row| (row.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80).collect();
    let mut newer = recording();
    newer[8] = 9;
    let mut damaged = recording();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let gzipped = fs::read(input("node22-gc")).unwrap();
    let rows: &[(&str, &[u8], &str, &str)] = &[
        ("empty", b"", "it is empty", "idle?"),
        ("blank.txt", b" \n\n\t\n", "it is empty", "idle?"),
        ("garbage.bin", &garbage, "does not look like any recording", "nodescope reads"),
        ("prose.txt", b"Dear diary,\ntoday I profiled.\n", "starts with “Dear diary,", "nodescope reads"),
        ("newer.nodescope", &newer, "format version 9, and this nodescope reads up to 1", ""),
        ("damaged.nodescope", &damaged, "damaged at byte 16: the checksum does not match", ""),
        ("cut.nodescope", &recording()[..100], "damaged at byte 16: the file ends", ""),
        ("perf.data", b"PERFILE2 and so on", "perf.data", "perf script -i"),
        ("a.cpuprofile", b"{\"nodes\": []}", "JSON", "folded"),
        ("v8.log", b"v8-version,12,4\n", "V8 --prof log, but there is not one sample in it (line 1", "idle?"),
        ("header.txt", b"# ========\n# captured on : today\n", "does not look like", ""),
        ("cut.gz", &gzipped[..8], "broken near byte 8", ""),
    ];
    for (name, bytes, sentence, hint) in rows {
        let path = scratch.file(name, bytes);
        fails(&["report", &path], 1, sentence, hint);
        fails(&["report", &path], 1, &path, hint);
        fails(&["export", &path, "-o", "-", "--to", "folded"], 1, sentence, hint);
        if !bytes.is_empty() {
            let output = with_stdin(&["report", "-"], bytes);
            assert!(stderr(&output).contains(sentence), "{name} from stdin: {}", stderr(&output));
        }
    }
    let nowhere = scratch.path("nowhere.txt");
    fails(&["report", &nowhere], 1, &format!("there is no file {nowhere}"), "");
    let folder = scratch.0.display().to_string();
    fails(&["report", &folder], 1, "is a folder", "name one recording");
}

/// What came before the damage is shown, and where it is.
#[test]
fn damage_does_not_hide_what_came_before() {
    let scratch = Scratch::new("damage");
    let gzipped = fs::read(input("node22-http")).unwrap();
    let path = scratch.file("cut.txt.gz", &gzipped[..gzipped.len() / 2]);
    let output = run(&["report", &path, "--json"]);
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let samples = report["samples"].as_u64().unwrap();
    assert!((200..500).contains(&samples), "{samples} of 695 samples are in the first half");
    let warning = stderr(&output);
    let position = format!("near byte {}", gzipped.len() / 2);
    assert!(warning.contains("damaged after line") && warning.contains(&position), "{warning}");
    assert!(warning.contains("showing what could be read"), "{warning}");
    assert!(report["losses"]["damage"][0].as_str().unwrap().contains(&position));

    let output = run(&["report", &input("perf-cut")]);
    assert!(output.status.success() && stderr(&output).contains("line 332 is cut off"), "{}", stderr(&output));

    let output = run(&["report", &input("folded-odd")]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("line 17 was not understood: “no count here”"), "{}", stderr(&output));
    assert!(stderr(&output).contains("3 lines in all"), "{}", stderr(&output));

    let mut two_chunks = recording();
    two_chunks.extend_from_slice(&recording()[16..]);
    let whole = two_chunks.len();
    let path = scratch.file("cut.nodescope", &two_chunks[..whole - 10]);
    let output = run(&["report", &path]);
    assert!(output.status.success() && stdout(&output).contains("514 samples"));
    let sentence = format!("damaged at byte {}: the file ends in the middle of a chunk", recording().len());
    assert!(stderr(&output).contains(&sentence), "{}", stderr(&output));
    let path = scratch.file("whole.nodescope", &two_chunks);
    assert_eq!(samples(&[&path]), 2 * 514);
}

// ---- export ------------------------------------------------------------------------------------------------

#[test]
fn every_form_by_ending_and_by_name() {
    let scratch = Scratch::new("forms");
    let path = input("node22-gc");
    let rows: &[(&str, &[&str], fn(&[u8]) -> bool)] = &[
        ("svg", &["flame.svg", "FLAME.SVG"], |bytes| bytes.windows(4).any(|part| part == b"<svg")),
        ("folded", &["a.folded", "a.collapsed"], |bytes| bytes.starts_with(b"node;")),
        ("nodescope", &["a.nodescope"], |bytes| bytes.starts_with(b"nodescop")),
        ("json", &["a.json"], |bytes| serde_json::from_slice::<Value>(bytes).is_ok_and(|json| json["samples"] == 514)),
    ];
    for (form, names, is_right) in rows {
        let streamed = run(&["export", &path, "-o", "-", "--to", form]);
        assert!(streamed.status.success() && is_right(&streamed.stdout), "{form}: {}", stderr(&streamed));
        assert_eq!(stderr(&streamed), "", "{form}");
        for name in *names {
            let out = scratch.path(name);
            assert_eq!(succeeds(&["export", &path, "-o", &out]), "", "{form} prints nothing on stdout");
            assert_eq!(fs::read(&out).unwrap(), streamed.stdout, "{form} as {name}");
            // The second time over the first.
            succeeds(&["export", &path, "-o", &out]);
            assert_eq!(fs::read(&out).unwrap(), streamed.stdout, "{form} is the same every time");
        }
        let odd = scratch.path(&format!("{form}.txt"));
        succeeds(&["export", &path, "-o", &odd, "--to", form]);
        assert_eq!(fs::read(&odd).unwrap(), streamed.stdout, "--to {form} wins over the ending");
    }
    let left: Vec<_> = scratch.0.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".part")), "{left:?}");
}

#[test]
fn a_recording_of_our_own_reports_the_same() {
    let scratch = Scratch::new("ours");
    for case in ["node22-http", "perf-multi-event", "node22-hostile-names", "bpftrace-ustack"] {
        let ours = scratch.path("ours.nodescope");
        run(&["export", &input(case), "-o", &ours]);
        assert_eq!(succeeds(&["report", &ours]), succeeds(&["report", &input(case)]), "{case}");
        let folded = |path: &str| stdout(&run(&["export", path, "-o", "-", "--to", "folded", "--all"]));
        assert_eq!(folded(&ours), folded(&input(case)), "{case}");
    }
}

#[test]
fn folded_stacks_have_their_marks() {
    let path = input("perf-pidtid");
    let fold = |flags: &[&str]| {
        let command: Vec<&str> = [&["export"], flags, &[&path, "-o", "-", "--to", "folded"]].concat();
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
    let unknown = succeeds(&["export", &input("node22-noflags"), "-o", "-", "--to", "folded", "--addrs"]);
    assert!(unknown.contains(" <"), "addresses stand where names are missing");
}

#[test]
fn several_events_are_not_left_out_silently() {
    let output = run(&["export", &input("perf-multi-event"), "-o", "-", "--to", "folded"]);
    assert!(output.status.success());
    let note = stderr(&output);
    assert!(note.contains("context-switches (211 samples)") && note.contains("page-faults (91"), "{note}");
    assert!(note.contains("--event"), "{note}");
    let output =
        run(&["export", &input("perf-multi-event"), "-o", "-", "--to", "folded", "--event", "page-faults"]);
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
        (&["--to", "svg", "--colors", "plaid"], "no palette plaid", "category"),
        (&["--to", "svg", "--min-width", "100"], "--min-width 100", "0.1"),
        (&["--to", "svg", "--min-width", "-1"], "-1", ""),
        (&["--to", "svg", "--width", "7"], "7", ""),
        (&["--to", "png"], "cannot write png", "svg"),
        (&[], "stdout has no ending", "--to"),
    ];
    for (arguments, sentence, hint) in rows {
        fails(&[&["export", &path, "-o", "-"], *arguments].concat(), 2, sentence, hint);
    }
    let scratch = Scratch::new("endings");
    for name in ["flame.png", "flame", "svg"] {
        let out = scratch.path(name);
        fails(&["export", &path, "-o", &out], 2, "does not say what to write", "--to");
        assert!(!Path::new(&out).exists());
    }
    fails(&["export", &path], 2, "--output", "");
}

#[test]
fn flame_graph_options_show_in_the_picture() {
    let path = input("node22-gc");
    let draw = |flags: &[&str]| succeeds(&[&["export", &path, "-o", "-", "--to", "svg"], flags].concat());
    let plain = draw(&[]);
    assert!(draw(&["--title", "Black Friday <b>"]).contains("Black Friday &lt;b&gt;"));
    assert!(draw(&["--width", "777"]).contains("width=\"777\""));
    let frames = |picture: &str| picture.matches("<title>").count();
    assert!(frames(&draw(&["--min-width", "20"])) < frames(&plain));
    for flags in [&["--inverted"][..], &["--reverse"], &["--colors", "hot"], &["--search", "churn"]] {
        assert_ne!(draw(flags), plain, "{flags:?}");
    }
    fails(&["export", &input("folded-odd"), "-o", "-", "--to", "svg", "--search", "zero"], 1, "no sample", "");
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

/// Exports tell much about a service: only their owner may read them, and no link leads them astray.
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
    assert_eq!(fs::metadata(&loose).unwrap().permissions().mode() & 0o777, 0o600, "an old file's mode goes");
}

#[test]
fn what_cannot_be_written_says_where() {
    let scratch = Scratch::new("unwritable");
    let path = input("node22-gc");
    let folder = scratch.path("folder.svg");
    fs::create_dir(&folder).unwrap();
    fails(&["export", &path, "-o", &folder], 1, &format!("cannot write {folder}: it is a folder"), "");
    let nowhere = scratch.path("no/such/folder/a.svg");
    fails(&["export", &path, "-o", &nowhere], 1, &format!("cannot write {nowhere}"), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_place() {
    let path = input("node22-http");
    for form in ["svg", "folded", "nodescope", "json"] {
        fails(&["export", &path, "-o", "/dev/full", "--to", form], 1, "cannot write /dev/full: No space left", "");
        let command = ["export", &path, "-o", "-", "--to", form];
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = nodescope(&command).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{form}");
        assert!(stderr(&output).contains("cannot write stdout: No space left"), "{}", stderr(&output));
    }
    for command in [&["report", path.as_str()][..], &["report", &path, "--json"], &["man"], &["completions", "bash"], &[]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = nodescope(command).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(stderr(&output).contains("cannot write stdout"), "{command:?}: {}", stderr(&output));
    }
}

/// `nodescope … | head -1` is no failure, and nobody is left to tell.
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
        let mut child = nodescope(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "", "{command:?}");
        assert!(child.wait().unwrap().code().is_some(), "{command:?}: ended by a signal");
    }
}

// ---- help and generated texts ------------------------------------------------------------------------------

#[test]
fn help_is_at_hand() {
    let bare = succeeds(&[]);
    for part in ["nodescope report FILE", "nodescope export FILE -o OUT", "--help"] {
        assert!(bare.contains(part), "{part}: {bare}");
    }
    for command in [&["--help"][..], &["report", "--help"], &["export", "--help"], &["man", "--help"]] {
        assert!(succeeds(command).contains("Usage: nodescope"), "{command:?}");
    }
    assert!(succeeds(&["--version"]).starts_with("nodescope "));
    fails(&["fly"], 2, "fly", "");
    fails(&["report"], 2, "FILE", "");
    fails(&["--fly"], 2, "--fly", "");
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeeds(&["completions", shell]);
        for word in ["report", "export", "category"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    fails(&["completions", "tcsh"], 2, "tcsh", "bash");
    let scratch = Scratch::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let path = scratch.file(shell, succeeds(&["completions", shell]).as_bytes());
        match Command::new(shell).args(["-n", &path]).output() {
            Ok(output) => assert!(output.status.success(), "{shell} -n: {}", stderr(&output)),
            Err(_) => println!("skipped: completions for {shell}: {shell} is not here"),
        }
    }
}

#[test]
fn manual_pages() {
    let page = succeeds(&["man"]);
    assert!(page.contains("\n.TH nodescope 1") || page.starts_with(".TH nodescope 1"), "{page}");
    let scratch = Scratch::new("man");
    assert_eq!(succeeds(&["man", "--dir", &scratch.0.display().to_string()]), "");
    for name in ["nodescope.1", "nodescope-report.1", "nodescope-export.1"] {
        let page = fs::read_to_string(scratch.0.join(name)).unwrap();
        let title = name.strip_suffix(".1").unwrap();
        assert!(page.contains(&format!(".TH {title} 1")), "{name}: {page}");
        match Command::new("man").args(["--warnings", "-E", "UTF-8", "-l"]).arg(scratch.0.join(name)).output() {
            Ok(output) => assert!(output.status.success(), "{name}: {}", stderr(&output)),
            Err(_) => println!("skipped: rendering {name}: man is not here"),
        }
    }
    let nowhere = scratch.path("no/such/folder");
    fails(&["man", "--dir", &nowhere], 1, "cannot write", "");
}

// ---- tools -------------------------------------------------------------------------------------------------

/// The program with these arguments, in a plain environment.
fn nodescope(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodescope"));
    command.args(arguments).stdin(Stdio::null());
    for variable in ["COLUMNS", "NO_COLOR", "TERM", "SUDO_UID", "SUDO_GID"] {
        command.env_remove(variable);
    }
    command
}

fn run(arguments: &[&str]) -> Output {
    nodescope(arguments).output().unwrap()
}

/// What a command prints that must succeed.
fn succeeds(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// A command must fail with that status, nothing on stdout, and on stderr one sentence and perhaps one hint.
fn fails(arguments: &[&str], status: i32, sentence: &str, hint: &str) {
    let output = run(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
    assert_eq!(stdout(&output), "", "{arguments:?}: stdout is for data");
    let lines: Vec<&str> = said.lines().collect();
    // clap's own messages have a form of their own, and say how to learn more.
    if lines[0].starts_with("error: ") {
        assert!(said.contains(sentence) && said.contains(hint) && said.contains("--help"), "{arguments:?}: {said}");
        return;
    }
    assert!(lines[0].starts_with("nodescope: ") && lines[0].contains(sentence), "{arguments:?}: {said}");
    assert!(lines.len() <= 2, "{arguments:?}: one sentence and one hint: {said}");
    match lines.get(1) {
        Some(line) => assert!(line.starts_with("hint: ") && line.contains(hint), "{arguments:?}: {said}"),
        None => assert_eq!(hint, "", "{arguments:?} has no hint: {said}"),
    }
}

fn with_stdin(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut command = nodescope(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // It may refuse early and read no further.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(arguments)).unwrap()
}

/// How many samples a report is about.
fn samples(arguments: &[&str]) -> u64 {
    json(&[&["report", "--json"], arguments].concat())["samples"].as_u64().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    for (row, part) in text.split('\u{1b}').enumerate() {
        plain.push_str(if row == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    plain
}

/// The input of a corpus case.
fn input(case: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(case);
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_input = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("input.");
    let path = files.filter(is_input).min();
    path.unwrap_or_else(|| panic!("corpus/{case} has no input")).display().to_string()
}

/// A recording of our own, of 514 samples.
fn recording() -> Vec<u8> {
    run(&["export", &input("node22-gc"), "-o", "-", "--to", "nodescope"]).stdout
}

/// A folder that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("nodescope-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! The built program as people and scripts meet it: what it prints where, its exit status, and what it reports about an
//! input. What it writes is in export.rs.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::program::{
    Scratch, fails, input, json, nodescope, recording, run, samples, stderr, stdout, succeeds,
    with_stdin, without_colours,
};
use crate::skip::skip;

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

#[test]
fn a_report_fits_the_width() {
    // Figures are never cut, and a count of 2^64 - 1 needs its room.
    for case in SHOWN.iter().filter(|case| **case != "folded-odd") {
        for width in [60, 80, 160] {
            for rows in ["15", "0"] {
                let output = nodescope(&["report", &input(case), "-n", rows])
                    .env("COLUMNS", width.to_string())
                    .output()
                    .unwrap();
                for line in stdout(&output).lines() {
                    assert!(
                        line.width() <= width,
                        "{case}: {} columns of {width}: {line}",
                        line.width()
                    );
                }
            }
        }
    }
}

#[test]
fn a_report_shows_what_there_is() {
    let text = succeeds(&["report", &input("node22-http")]);
    for part in [
        "695 samples of cpu-clock",
        "3.0 s",
        "Where the time went",
        "Functions",
        "npm packages",
        "Threads",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for name in ["express", "@babel/parser", "longest_match", "main loop", "thread pool"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let lines = succeeds(&["report", &input("perf-srcline")]);
    assert!(lines.contains("\nLines\n"), "{lines}");
}

/// No name of a function, thread or host can control a terminal.
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
    let has_colours =
        |command: &mut Command| stdout(&command.output().unwrap()).contains("\u{1b}[");
    assert!(!has_colours(&mut nodescope(&["report", &path])), "a pipe is no terminal");
    assert!(!has_colours(&mut nodescope(&["report", &path, "--color", "never"])));
    assert!(has_colours(&mut nodescope(&["report", &path, "--color", "always"])));
    assert!(
        has_colours(nodescope(&["report", &path, "--color", "always"]).env("NO_COLOR", "1")),
        "typed wins"
    );
    let coloured = without_colours(&succeeds(&["report", &path, "--color", "always"]));
    let plain = succeeds(&["report", &path, "--color", "never"]);
    assert!(coloured.lines().map(str::trim_end).eq(plain.lines()), "{coloured}\n{plain}");
    fails(&["report", &path, "--color", "sometimes"], 2, "sometimes", "always");
}

#[test]
fn help_is_a_command_too() {
    assert!(succeeds(&["help"]).contains("record"));
    assert_eq!(succeeds(&["help", "record"]), succeeds(&["record", "--help"]));
    fails(&["help", "nonsense"], 2, "nonsense", "");
    assert!(succeeds(&["completions", "fish"]).contains("help"));
}

/// util-linux's `script` runs a command on a terminal of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_treated_as_one() {
    let on_terminal = |arguments: &str, variables: &[(&str, &str)]| {
        let command = format!("{} {arguments}", crate::program::path());
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).env("SHELL", "/bin/sh").stdin(Stdio::null());
        script.env_remove("NO_COLOR").env_remove("COLUMNS").env("TERM", "xterm-256color");
        script.envs(variables.iter().copied()).output().ok()
    };
    let path = input("node22-http");
    let report = format!("report {path}");
    let Some(coloured) = on_terminal(&report, &[]) else {
        skip("what happens on a terminal: script is not here");
        return;
    };
    assert!(stdout(&coloured).contains("\u{1b}[1m"), "{}", stdout(&coloured));
    for (arguments, variables) in [
        (report.clone(), &[("NO_COLOR", "1")][..]),
        (report.clone(), &[("TERM", "dumb")]),
        (format!("{report} --color never"), &[]),
    ] {
        let plain = stdout(&on_terminal(&arguments, variables).unwrap());
        assert!(
            !plain.contains('\u{1b}') && plain.contains("695 samples"),
            "{arguments} {variables:?}: {plain}"
        );
    }
    let empty_no_color = stdout(&on_terminal(&report, &[("NO_COLOR", "")]).unwrap());
    assert!(empty_no_color.contains("\u{1b}[1m"), "an empty NO_COLOR counts as not set");
    for (arguments, sentence) in [
        (format!("export {path} --to nodescope -o -"), "binary, and stdout is a terminal"),
        (format!("export {path} --to pprof -o -"), "binary, and stdout is a terminal"),
        (format!("export {path} --to firefox -o -"), "binary, and stdout is a terminal"),
        ("report -".to_owned(), "stdin is a terminal"),
    ] {
        let refused = on_terminal(&arguments, &[]).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{arguments}");
        assert!(stdout(&refused).contains(sentence), "{arguments}: {}", stdout(&refused));
    }
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
        assert!(
            report["losses"]["damage"].is_array() && report["losses"]["unnamed"].is_object(),
            "{case}"
        );
        for row in report["functions"].as_array().unwrap() {
            assert!(row["name"].is_string() && row["category"].is_string(), "{case}: {row}");
            for (key, is_right) in [
                ("file", Value::is_string as fn(&Value) -> bool),
                ("line", Value::is_u64),
                ("package", Value::is_string),
            ] {
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
        let sum = |list: &str, column: &str| -> f64 {
            report[list].as_array().unwrap().iter().map(|row| row[column].as_f64().unwrap()).sum()
        };
        for (list, column) in [
            ("functions", "self"),
            ("categories", "self"),
            ("threads", "self"),
            ("own_functions", "caused"),
            ("packages", "caused"),
        ] {
            let sum = sum(list, column);
            assert!(sum < 1.0 + 1e-9, "{case}: {column} of {list} is {sum} of the time");
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
fn json_has_what_is_known() {
    let report = json(&["report", &input("node22-known-shares"), "--json"]);
    assert_eq!(report["samples"], 1518);
    let first = &report["functions"][0];
    assert_eq!(
        (
            first["name"].as_str(),
            first["file"].as_str(),
            first["line"].as_u64(),
            first["category"].as_str()
        ),
        (Some("burnA"), Some("/srv/shares/shares.js"), Some(7), Some("app"))
    );
    assert!((first["self"].as_f64().unwrap() - 758.0 / 1518.0).abs() < 1e-9);
    assert_eq!(report["threads"][0]["role"], "main");
    let report = json(&["report", &input("node22-pnpm"), "--json"]);
    let packages = report["packages"].as_array().unwrap();
    assert!(packages.iter().any(|row| row["name"] == "@babel/core"));
    let functions = report["functions"].as_array().unwrap();
    assert!(
        functions.iter().any(|row| row["package"] == "lodash" && row["category"] == "dependency")
    );
}

#[test]
fn narrowing_narrows() {
    let (http, pids, events) =
        (input("node22-http"), input("perf-pidtid"), input("perf-multi-event"));
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
    assert_eq!(
        samples(&[&http, "--range", "0s..1s"]) + samples(&[&http, "--range", "1s.."]),
        whole
    );
    let of_roles: u64 =
        ["main", "pool", "v8"].iter().map(|role| samples(&[&http, "-t", role])).sum();
    assert_eq!(of_roles, whole);
    assert_eq!(samples(&[&http, "-t", "main,libuv-worker,v8"]), whole);
    assert_eq!(samples(&[&http, "-t", "pool"]), samples(&[&http, "-t", "libuv-worker"]));
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
        let row = report["categories"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == "gc")
            .cloned();
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
        (&["--threads", "100000"], 2, "100000", "256"),
        (&["--no-such-option"], 2, "--no-such-option", ""),
    ];
    for (arguments, status, sentence, hint) in rows {
        fails(&[&["report", &http], *arguments].concat(), *status, sentence, hint);
        if *arguments != ["--pid", "me"] {
            fails(
                &[&["export", &http, "--to", "svg", "-o", "-"], *arguments].concat(),
                *status,
                sentence,
                hint,
            );
        }
    }
    fails(
        &["export", &http, "--to", "svg", "-o", "-", "--pid=me"],
        2,
        "--pid me is not a pid",
        "4140",
    );
    fails(&["report", &folded, "--range", "0s..1s"], 1, "no times", "leave out --range");
    fails(&["report", &input("perf-pidtid"), "--pid", "1"], 1, "no process 1", "its pids are");
}

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
    let garbage: Vec<u8> =
        (0..4096u32).map(|row| (row.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80).collect();
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
        (
            "prose.txt",
            b"Dear diary,\ntoday I profiled.\n",
            "starts with “Dear diary,",
            "nodescope reads",
        ),
        ("newer.nodescope", &newer, "format version 9, and this nodescope reads up to 2", ""),
        ("damaged.nodescope", &damaged, "damaged at byte 16: the checksum does not match", ""),
        ("cut.nodescope", &recording()[..100], "damaged at byte 16: the file ends", ""),
        ("perf.data", b"PERFILE2 and so on", "damaged at byte 18: the header is cut off", "idle?"),
        ("a.cpuprofile", b"{\"nodes\": []}", "JSON", "folded"),
        (
            "v8.log",
            b"v8-version,12,4\n",
            "V8 --prof log, but there is not one sample in it (line 1",
            "idle?",
        ),
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
    let before = report["samples"].as_u64().unwrap();
    assert!((200..500).contains(&before), "{before} of 695 samples are in the first half");
    let warning = stderr(&output);
    let position = format!("near byte {}", gzipped.len() / 2);
    assert!(warning.contains("damaged after line") && warning.contains(&position), "{warning}");
    assert!(warning.contains("showing what could be read"), "{warning}");
    let damage = report["losses"]["damage"].as_array().unwrap();
    assert!(
        damage.iter().any(|sentence| sentence.as_str().unwrap().contains(&position)),
        "{damage:?}"
    );

    let output = run(&["report", &input("perf-cut")]);
    assert!(
        output.status.success() && stderr(&output).contains("line 332 is cut off"),
        "{}",
        stderr(&output)
    );

    let output = run(&["report", &input("folded-odd")]);
    assert!(output.status.success());
    assert!(
        stderr(&output).contains("line 17 was not understood: “no count here”"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("3 lines in all"), "{}", stderr(&output));

    let mut two_chunks = recording();
    two_chunks.extend_from_slice(&recording()[16..]);
    let whole = two_chunks.len();
    let path = scratch.file("cut.nodescope", &two_chunks[..whole - 10]);
    let output = run(&["report", &path]);
    assert!(output.status.success() && stdout(&output).contains("514 samples"));
    let sentence =
        format!("damaged at byte {}: the file ends in the middle of a chunk", recording().len());
    assert!(stderr(&output).contains(&sentence), "{}", stderr(&output));
    let path = scratch.file("whole.nodescope", &two_chunks);
    assert_eq!(samples(&[&path]), 2 * 514);
}

#[test]
fn help_is_at_hand() {
    let bare = succeeds(&[]);
    for part in [
        "nodescope demo",
        "nodescope record TARGET",
        "nodescope view [FILE|DIR]",
        "nodescope report FILE",
        "nodescope diff BEFORE AFTER",
        "nodescope export FILE -o OUT",
        "nodescope help COMMAND",
    ] {
        assert!(bare.contains(part), "{part}: {bare}");
    }
    for command in [
        &["--help"][..],
        &["view", "--help"],
        &["report", "--help"],
        &["diff", "--help"],
        &["export", "--help"],
        &["demo", "--help"],
        &["man", "--help"],
    ] {
        assert!(succeeds(command).contains("Usage: nodescope"), "{command:?}");
    }
    let forms = [
        "nodescope",
        "html",
        "svg",
        "folded",
        "cpuprofile",
        "speedscope",
        "pprof",
        "firefox",
        "json",
    ];
    let scratch = Scratch::new("help");
    succeeds(&["man", "--dir", &scratch.0.display().to_string()]);
    let help = succeeds(&["export", "--help"]);
    let page = fs::read_to_string(scratch.0.join("nodescope-export.1")).unwrap();
    let completions = succeeds(&["completions", "fish"]);
    for form in forms {
        assert!(
            help.contains(form) && page.contains(form) && completions.contains(form),
            "{form}: {help}"
        );
    }
    for input in [
        "perf script",
        ".cpuprofile",
        "trace",
        "--prof",
        "folded",
        "pprof",
        "speedscope",
        ".nodescope",
    ] {
        assert!(bare.contains(input), "{input}: {bare}");
        fails(
            &["report", &scratch.file("prose.txt", b"Dear diary,\n")],
            1,
            "does not look like",
            input,
        );
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
            Err(_) => skip(format_args!("completions for {shell}: {shell} is not here")),
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
        match Command::new("man")
            .args(["--warnings", "-E", "UTF-8", "-l"])
            .arg(scratch.0.join(name))
            .output()
        {
            Ok(output) => assert!(output.status.success(), "{name}: {}", stderr(&output)),
            Err(_) => skip(format_args!("rendering {name}: man is not here")),
        }
    }
    // A folder that is not there is made.
    succeeds(&["man", "--dir", &scratch.path("a/new/folder")]);
    assert!(scratch.0.join("a/new/folder/nodescope.1").exists());
    let nowhere = scratch.path("nodescope.1/folder");
    fails(&["man", "--dir", &nowhere], 1, "cannot write", "");
}

/// The logs of all isolates of one program, or the recordings of several processes.
#[test]
fn several_recordings_are_joined() {
    let (one, two) = (input("node20-prof-http"), input("node18-prof"));
    let report = |paths: &[&str]| json(&[&["report", "--json"], paths].concat());
    let joined = report(&[&one, &two]);
    let alone = [report(&[&one]), report(&[&two])];
    let count = |report: &Value| report["samples"].as_u64().unwrap();
    assert_eq!(count(&joined), count(&alone[0]) + count(&alone[1]));
    let threads = |report: &Value| report["threads"].as_array().unwrap().len();
    assert_eq!(threads(&joined), threads(&alone[0]) + threads(&alone[1]), "they stay apart");
    fails(&["report", "-", "-"], 2, "cannot be given twice", "only one FILE");
}

//! Samples of real Nodes are named as they were when they were recorded. NODESCOPE_UPDATE=1 writes the expected texts
//! anew: then read what has changed.

use std::fmt::Write;
use std::fs;

use v8::{Frame, FunctionId, JsFrame, Kind, Reader, Reason};

use crate::recorded::{Recorded, all, folder};

#[test]
fn recorded_samples_keep_their_names() {
    for (version, recorded) in all() {
        let text = names(&recorded);
        let path = folder().join(format!("{version}.txt"));
        if std::env::var_os("NODESCOPE_UPDATE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(text == expected, "{version} is now:\n{text}");
    }
}

#[test]
fn fixtures_show_all_that_there_is() {
    let texts: Vec<(String, String)> =
        all().iter().map(|(version, recorded)| (version.clone(), names(recorded))).collect();
    for (version, text) in &texts {
        let words = if version.starts_with("nested") {
            [
                "Ignition “third” eval:2:19 at 5:9",
                "Ignition “outer” eval:1:16 at 16:12",
                "processImmediate",
            ]
        } else if version.starts_with("wasm") {
            ["“spin” wasm://wasm/shapes-", "“deep” wasm://wasm/shapes-", "wasm.js:"]
        } else {
            ["Turbofan", "  inlined ", "varied.js:"]
        };
        for word in words {
            assert!(text.contains(word), "{version} lacks {word}");
        }
    }
    for word in ["Sparkplug", "Maglev", " eval:1:"] {
        assert!(texts.iter().any(|(_, text)| text.contains(word)), "no fixture has {word}");
    }
}

#[test]
fn a_second_batch_gives_the_same() {
    for (version, recorded) in all() {
        let mut reader = recorded.reader();
        let once = names_with(&recorded, &mut reader);
        reader.begin_batch();
        let twice = names_with(&recorded, &mut reader);
        let different = once.lines().zip(twice.lines()).find(|(once, twice)| once != twice);
        assert!(once == twice, "{version}: {different:?}");
    }
}

#[test]
fn fixtures_are_small() {
    for entry in fs::read_dir(folder()).unwrap() {
        assert!(entry.unwrap().metadata().unwrap().len() <= 200_000);
    }
}

fn names(recorded: &Recorded) -> String {
    names_with(recorded, &mut recorded.reader())
}

fn names_with(recorded: &Recorded, reader: &mut Reader) -> String {
    let mut out = String::new();
    for (row, sample) in recorded.samples.iter().enumerate() {
        writeln!(out, "sample {row}").unwrap();
        for (frame, name) in recorded.name(reader, &recorded.memory, sample) {
            write_frame(&mut out, reader, &frame, &name);
        }
    }
    out
}

/// Addresses differ from run to run and would mean nothing.
fn write_frame(out: &mut String, reader: &Reader, frame: &Frame, name: &Result<JsFrame, Reason>) {
    match name {
        Ok(name) => {
            for inlined in &name.inlined {
                let function = function(reader, inlined.function);
                writeln!(out, "  inlined {function} at {}:{}", inlined.line, inlined.column)
                    .unwrap();
            }
            let function = function(reader, name.function);
            writeln!(out, "  {:?} {function} at {}:{}", name.tier, name.line, name.column).unwrap();
        }
        Err(reason) if frame.kind != Kind::Native => {
            writeln!(out, "  {:?}: {reason:?}", frame.kind).unwrap();
        }
        Err(_) => writeln!(out, "  Native").unwrap(),
    }
}

fn function(reader: &Reader, id: FunctionId) -> String {
    let function = reader.function(id).unwrap();
    let script = function.script.as_deref().unwrap_or("eval");
    format!("“{}” {script}:{}:{}", function.display_name(), function.line, function.column)
}

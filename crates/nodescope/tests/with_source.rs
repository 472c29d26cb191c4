//! `--with-source`: recordings hold the text of scripts where the user asks for it, and nowhere else.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::ZlibDecoder;
use serde_json::{Value, json};

use crate::program::{self, Scratch, fails, nodescope, stderr, succeeds};
use crate::skip::skip;

const TEXT: &str = "// a text of its own: größer\nfunction hot() {}\n";

/// A profile with two scripts, of which only one is on this disk, and the script.
fn profile(scratch: &Scratch) -> (String, String) {
    let script = scratch.file("app.js", TEXT.as_bytes());
    let node = |id: u32, name: &str, url: &str| json!({"id": id, "callFrame": {"functionName": name, "scriptId": "1", "url": url, "lineNumber": 1, "columnNumber": 9}});
    let mut root = node(1, "(root)", "");
    root["children"] = json!([2, 3]);
    let gone = scratch.path("gone.js");
    let profile = json!({
        "nodes": [root, node(2, "hot", &script), node(3, "cold", &gone)],
        "startTime": 0, "endTime": 4000, "samples": [2, 2, 3], "timeDeltas": [1000, 1000, 1000],
    });
    (scratch.file("a.cpuprofile", profile.to_string().as_bytes()), script)
}

/// The header of a recording of ours.
fn header(file: &[u8]) -> Value {
    let mut payload = Vec::new();
    ZlibDecoder::new(&file[40..]).read_to_end(&mut payload).unwrap();
    let length = u64::from_le_bytes(payload[..8].try_into().unwrap()) as usize;
    serde_json::from_slice(&payload[8..8 + length]).unwrap()
}

/// The recording inside a page.
pub(crate) fn inside(page: &str) -> Vec<u8> {
    let (_, rest) = page.split_once("class=\"recording\">").unwrap();
    let (text, _) = rest.split_once('<').unwrap();
    let digit = |byte: u8| {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            .iter()
            .position(|known| *known == byte)
    };
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0usize, 0);
    for byte in text.bytes().filter_map(digit) {
        (bits, count) = (bits << 6 | byte, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

/// The texts of sources, by path.
fn texts(header: &Value) -> Vec<(String, String)> {
    let string = |id: &Value| {
        header["strings"]
            .get(id.as_u64().unwrap() as usize)
            .map(|text| text.as_str().unwrap().to_owned())
    };
    let rows = header["sources"].as_array().unwrap().iter();
    rows.filter_map(|row| Some((string(&row["path"])?, string(&row["text"])?))).collect()
}

fn carries_none(header: &Value) {
    assert_eq!(texts(header), [], "{header}");
    assert!(!header.to_string().contains("of its own"), "{header}");
}

#[test]
fn text_goes_along_only_where_somebody_asked_for_it() {
    let scratch = Scratch::new("with-source");
    let (file, script) = profile(&scratch);
    let (plain, with) = (scratch.path("plain.nodescope"), scratch.path("with.nodescope"));
    let (plain_page, with_page) = (scratch.path("plain.html"), scratch.path("with.html"));
    for out in [&plain, &plain_page] {
        assert_eq!(succeeds(&["export", &file, "-o", out]), "");
    }
    carries_none(&header(&fs::read(&plain).unwrap()));
    carries_none(&header(&inside(&fs::read_to_string(&plain_page).unwrap())));
    for out in [&with, &with_page] {
        let output = nodescope(&["export", &file, "-o", out, "--with-source"]).output().unwrap();
        assert!(output.status.success());
        assert_eq!(
            stderr(&output),
            "nodescope: the file carries the text of 1 source file, 1 kB\n"
        );
    }
    let expected = [(script.clone(), TEXT.to_owned())];
    assert_eq!(texts(&header(&fs::read(&with).unwrap())), expected);
    assert_eq!(texts(&header(&inside(&fs::read_to_string(&with_page).unwrap()))), expected);
    // An export of it needs the option again, and no script.
    fs::remove_file(&script).unwrap();
    let again = scratch.path("again.nodescope");
    succeeds(&["export", &with, "-o", &again]);
    carries_none(&header(&fs::read(&again).unwrap()));
    succeeds(&["export", &with, "-o", &again, "--with-source"]);
    assert_eq!(texts(&header(&fs::read(&again).unwrap())), expected);
    // And what is read of it is the same.
    assert_eq!(succeeds(&["report", &with, "-n", "0"]), succeeds(&["report", &plain, "-n", "0"]));
}

#[test]
fn other_forms_have_no_place_for_it() {
    let scratch = Scratch::new("with-source-forms");
    let (file, _) = profile(&scratch);
    for form in ["svg", "folded", "cpuprofile", "speedscope", "pprof", "firefox", "json"] {
        fails(
            &["export", &file, "-o", "-", "--to", form, "--with-source"],
            2,
            "carry the text",
            "--with-source",
        );
    }
    #[cfg(target_os = "linux")]
    fails(
        &["record", "-o", &scratch.path("a.svg"), "--with-source", "--", "true"],
        2,
        "carry the text",
        "page.html",
    );
    let output = nodescope(&["export", &file, "-o", &scratch.path("a.html"), "--with-source"])
        .output()
        .unwrap();
    assert!(output.status.success());
}

#[test]
fn scripts_that_are_not_here_are_reported_as_missing() {
    let scratch = Scratch::new("with-source-none");
    let (file, script) = profile(&scratch);
    fs::remove_file(script).unwrap();
    let out = scratch.path("a.nodescope");
    let output = nodescope(&["export", &file, "-o", &out, "--with-source"]).output().unwrap();
    assert!(
        output.status.success() && stderr(&output).contains("no text of a source file was found"),
        "{}",
        stderr(&output)
    );
    carries_none(&header(&fs::read(&out).unwrap()));
}

/// A copy of the bundle that esbuild made of `crates/symbols/tests/maps/src`, in a folder of its own; the sources stay
/// away.
fn bundle(scratch: &Scratch) -> String {
    let maps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../symbols/tests/maps");
    fs::create_dir_all(scratch.path("esbuild")).unwrap();
    for file in ["esbuild/app.min.js", "esbuild/app.min.js.map"] {
        fs::copy(maps.join(file), scratch.path(file)).unwrap();
    }
    // The sources as the bundler saw them: not every map carries them.
    let file = scratch.path("esbuild/app.min.js.map");
    let mut map: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let contents: Vec<Value> = map["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| json!(format!("// made from {}\n", source.as_str().unwrap())))
        .collect();
    map["sourcesContent"] = Value::Array(contents);
    fs::write(&file, map.to_string()).unwrap();
    scratch.path("esbuild/app.min.js")
}

#[test]
fn a_map_brings_the_text_of_what_was_compiled() {
    let scratch = Scratch::new("with-source-map");
    let script = bundle(&scratch);
    let node = Command::new("node")
        .args(["--cpu-prof", "--cpu-prof-name=app.cpuprofile", &script, "400"])
        .current_dir(&scratch.0)
        .output();
    let Ok(node) = node else {
        return skip("text from a source map: there is no node");
    };
    assert!(node.status.success(), "{}", stderr(&node));
    let out = scratch.path("app.nodescope");
    succeeds(&["export", &scratch.path("app.cpuprofile"), "-o", &out, "--with-source"]);
    let found = texts(&header(&fs::read(&out).unwrap()));
    let primes = found.iter().find(|(path, _)| *path == scratch.path("src/primes.ts"));
    assert_eq!(
        primes.map(|(_, text)| text.as_str()),
        Some("// made from ../src/primes.ts\n"),
        "{found:?}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_recording_takes_the_text_along() {
    if !program::running::can_record() {
        return;
    }
    let scratch = Scratch::new("with-source-record");
    let script = scratch.file("busy.js", b"// a text of its own\nconst spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };\nwhile (spent() < 1200) JSON.stringify({ a: [1, 2, 3] });\n");
    let record = |out: &str, options: &[&str]| {
        let words =
            [&["record", "-F", "999", "--overwrite", "-o", out], options, &["--", "node", &script]]
                .concat();
        let output = nodescope(&words).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        fs::read(out).unwrap()
    };
    let plain = profile::file::read(&record(&scratch.path("plain.nodescope"), &[])).unwrap();
    let is_there = |source: &profile::Source| plain.text(source.path) == script;
    assert!(plain.sources().iter().any(is_there));
    assert!(plain.sources().iter().all(|source| source.text.some().is_none()));
    let found = texts(&header(&record(&scratch.path("with.nodescope"), &["--with-source"])));
    assert!(
        found
            .iter()
            .any(|(path, text)| *path == script && text.starts_with("// a text of its own\n")),
        "{found:?}"
    );
}

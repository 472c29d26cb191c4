//! `report --source`: the lines of a function beside their text; `--sources`: scripts that ran elsewhere.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Scratch, fails, json as json_of, nodescope, stderr, stdout, succeeds};

const TEXT: &str = "'use strict';
const limit = 3;

function total(rows) {
  let sum = 0;
  for (const row of rows)
    sum += row.price;
  return sum;
}

// far away





function list(rows) { return rows.map(String); }
";

/// A profile of two functions of a script that was recorded as `path`: total's lines 6 and 7, list's line 17.
fn profile(scratch: &Scratch, path: &str) -> String {
    let node = |id: u32, name: &str, line: u32, ticks: Value| {
        json!({"id": id, "positionTicks": ticks, "callFrame": {"functionName": name, "scriptId": "1",
            "url": path, "lineNumber": line - 1, "columnNumber": 9}})
    };
    let ticks = json!([{"line": 6, "ticks": 20}, {"line": 7, "ticks": 60}]);
    let mut root = node(1, "(root)", 1, json!([]));
    root["callFrame"]["url"] = json!("");
    root["children"] = json!([2, 3]);
    let nodes =
        [root, node(2, "total", 4, ticks), node(3, "list", 17, json!([{"line": 17, "ticks": 20}]))];
    let samples: Vec<u32> = (0..100).map(|at| if at % 5 == 0 { 3 } else { 2 }).collect();
    let profile = json!({
        "nodes": nodes, "startTime": 0, "endTime": 101_000,
        "samples": samples, "timeDeltas": vec![1000; 100],
    });
    scratch.file("a.cpuprofile", profile.to_string().as_bytes())
}

/// A profile of a script of this machine.
fn here(scratch: &Scratch) -> String {
    let script = scratch.file("shop.js", TEXT.as_bytes());
    profile(scratch, &script)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn hot_lines_stand_beside_their_text() {
    let scratch = Scratch::new("source-lines");
    let file = here(&scratch);
    let text = succeeds(&["report", &file, "--source", "total"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("total · ") && lines[0].contains("shop.js:4 · self 80"), "{text}");
    let find = |end: &str| lines.iter().find(|line| line.ends_with(end)).unwrap();
    let hot = find("sum += row.price;");
    assert_eq!(words(hot)[..6], ["60.0", "%", "60.0", "%", "60", "7"], "{text}");
    // Around it, without figures; and nothing that is far away.
    assert_eq!(words(find("let sum = 0;"))[0], "5", "{text}");
    assert_eq!(words(find("return sum;"))[0], "8", "{text}");
    assert!(!text.contains("far away") && !text.contains("list"), "{text}");
}

#[test]
fn a_function_is_meant_by_name_place_or_expression() {
    let scratch = Scratch::new("source-lines-meant");
    let file = here(&scratch);
    let meant = |typed: &str| json_of(&["report", &file, "--json", "--source", typed]);
    for typed in ["list", "shop.js:17", "^li"] {
        assert_eq!(meant(typed)["function"]["name"], "list", "{typed}");
    }
    let both = meant("shop");
    assert_eq!(both["function"]["name"], "total", "the hottest: {both}");
    assert_eq!(both["other_matches"][0]["name"], "list", "{both}");
    let lines = both["lines"].as_array().unwrap();
    let row =
        |at: usize| (lines[at]["line"].as_u64().unwrap(), lines[at]["text"].as_str().unwrap());
    assert_eq!([row(0), row(1)], [(6, "  for (const row of rows)"), (7, "    sum += row.price;")]);
    assert_eq!((&both["text_from"], &lines[1]["self_samples"]), (&json!("disk"), &json!(60)));
    fails(&["report", &file, "--source", "nothing"], 1, "is called nothing", "total, list");
    fails(&["report", &file, "--source", "("], 2, "--source ( is not a regular expression", "");
}

#[test]
fn without_a_text_the_lines_stand_alone() {
    let scratch = Scratch::new("source-lines-none");
    let file = profile(&scratch, "/app/lib/shop.js");
    let output = nodescope(&["report", &file, "--source", "total"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("--sources /app=."), "{}", stderr(&output));
    let numbers: Vec<String> =
        stdout(&output).lines().skip(3).map(|line| words(line)[5].to_owned()).collect();
    assert_eq!(numbers, ["6", "7"]);
}

/// What ran as /app/lib/shop.js is lib/shop.js of a folder here, and nothing outside of that folder is read.
#[test]
fn scripts_that_ran_elsewhere_are_found_below_their_folder() {
    let scratch = Scratch::new("source-lines-folder");
    let file = profile(&scratch, "/app/lib/shop.js");
    fs::create_dir_all(scratch.path("checkout/lib")).unwrap();
    let script = scratch.path("checkout/lib/shop.js");
    fs::write(&script, TEXT).unwrap();
    let folder = format!("/app={}", scratch.path("checkout"));
    let report = |sources: &str| {
        json_of(&["report", &file, "--json", "--source", "total", "--sources", sources])
    };
    assert_eq!(report(&folder)["lines"][1]["text"], "    sum += row.price;");
    assert_eq!(report(&folder.replace("/app=", "/ap="))["text_from"], Value::Null);
    // A message says that the file is another version.
    fs::write(&script, TEXT.replace("total", "summe")).unwrap();
    let output =
        nodescope(&["report", &file, "--source", "total", "--sources", &folder]).output().unwrap();
    assert!(stderr(&output).contains("another version"), "{}", stderr(&output));
    for (typed, why) in [("app", "PREFIX=DIR"), ("/app=/does/not/exist", "there is no folder")] {
        fails(&["report", &file, "--source", "total", "--sources", typed], 2, why, "/app=.");
    }
    #[cfg(unix)]
    {
        let outside = scratch.file("outside.js", TEXT.as_bytes());
        fs::remove_file(&script).unwrap();
        std::os::unix::fs::symlink(outside, &script).unwrap();
        assert_eq!(report(&folder)["text_from"], Value::Null, "a link out of the folder");
    }
}

/// The text is shown, and goes into no export by itself.
#[test]
fn exports_do_not_know_of_the_folder() {
    let scratch = Scratch::new("source-lines-export");
    let file = here(&scratch);
    let out = scratch.path("a.nodescope");
    let words = ["export", &file, "-o", &out, "--sources", "/app=."];
    assert!(!nodescope(&words).output().unwrap().status.success(), "there is no such option");
}

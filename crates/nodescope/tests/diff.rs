//! `nodescope diff`: two recordings whose difference is known.

use std::fmt::Write;

use crate::program::{Scratch, fails, json, succeeds};

/// How many samples a second of each function a recording has; each stands for 10 ms.
fn recording(functions: &[(&str, u32)]) -> Vec<u8> {
    let mut text = String::new();
    let all: u32 = functions.iter().map(|(_, count)| count).sum();
    for second in 0..20 {
        let of =
            |(name, count): &(&str, u32)| std::iter::repeat_n((*name).to_owned(), *count as usize);
        for (row, name) in functions.iter().flat_map(of).enumerate() {
            let time = f64::from(second) + row as f64 / f64::from(all);
            let _ = writeln!(text, "node   100/100   {time:.6}:   10000000 cpu-clock:");
            let _ = writeln!(
                text,
                "\t    1000 LazyCompile:*{name} /srv/shop/{name}.js:12 (/tmp/perf-100.map)"
            );
            let _ = writeln!(text, "\t    2000 node::Start (/usr/bin/node)\n");
        }
    }
    text.into_bytes()
}

#[test]
fn what_became_faster_is_shown_and_nothing_else() {
    let scratch = Scratch::new("diff");
    let before = scratch.file("before.txt", &recording(&[("render", 30), ("list", 20)]));
    let after = scratch.file("after.txt", &recording(&[("render", 5), ("list", 20)]));
    let text = succeeds(&["diff", &before, &after]);
    for part in [
        "before.txt",
        "after.txt",
        "The main loop used 0.25 cores less (50 %): 0.50 before, 0.25 after.",
        "Largest changes of own time, beyond noise:",
        "−0.25 cores, 0.30 → 0.05",
        "render.js:12",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    // Its share has doubled, and it did not become slower.
    let (_, changes) = text.split_once("Largest changes").unwrap();
    assert!(!changes.contains("list.js"), "{text}");
    let diff = json(&["diff", "--json", &before, &after]);
    assert_eq!(diff["schema_version"], 1);
    assert_eq!(diff["changes"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&diff["changes"][0]["name"], &diff["changes"][0]["verdict"]),
        (&"render".into(), &"less".into())
    );
    let shares = succeeds(&["diff", "--shares", &before, &after]);
    assert!(shares.contains("list.js:12") && shares.contains("points"), "{shares}");
}

#[test]
fn what_is_the_same_within_noise_is_no_change() {
    let scratch = Scratch::new("diff-same");
    let file = scratch.file("a.txt", &recording(&[("render", 30), ("list", 20)]));
    let text = succeeds(&["diff", &file, &file]);
    assert!(text.contains("the same within noise"), "{text}");
    assert!(text.contains("No function changed by more than noise."), "{text}");
}

#[test]
fn what_cannot_be_compared_is_explained() {
    let scratch = Scratch::new("diff-fails");
    let file = scratch.file("a.txt", &recording(&[("render", 30)]));
    fails(&["diff", "-", "-"], 2, "stdin is one recording", "only one FILE");
    fails(&["diff", &file, &scratch.path("none")], 1, "none", "hint:");
}

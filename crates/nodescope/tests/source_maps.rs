//! Source maps through the program: recordings and imported profiles name what people wrote, `--no-source-maps` what
//! ran, and hostile files do no harm.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::program::{self, Scratch, json, nodescope, stderr, stdout, succeeds};
use crate::skip::skip;

/// A copy of the bundle that esbuild made of `crates/symbols/tests/maps/src`, in a folder of its own.
fn shop(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let maps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../symbols/tests/maps");
    fs::create_dir_all(scratch.path("esbuild")).unwrap();
    for file in ["esbuild/app.min.js", "esbuild/app.min.js.map"] {
        fs::copy(maps.join(file), scratch.path(file)).unwrap();
    }
    scratch
}

/// The functions of a report, as `name path:line`.
fn functions(arguments: &[&str]) -> Vec<String> {
    let report = json(&[&["report", "--json", "-n", "0"], arguments].concat());
    let rows = report["functions"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}:{}", text("name"), text("file"), row["line"])
        })
        .collect()
}

/// A file's functions are those that people wrote.
fn assert_originals(file: &str, shop: &Scratch) {
    let functions = functions(&[file]);
    for (name, place) in [
        ("countPrimes", "src/primes.ts:13"),
        ("runShop", "src/main.ts:10"),
        ("totalPrice", "src/basket.ts:14"),
    ] {
        assert!(
            functions.contains(&format!("{name} {}", shop.path(place))),
            "{name}: {functions:?}"
        );
    }
}

/// A file's functions are those that ran.
fn assert_generated(arguments: &[&str]) {
    let functions = functions(arguments);
    let is_minified = |row: &String| row.starts_with("l ") && row.ends_with("app.min.js:1");
    assert!(functions.iter().any(is_minified), "{functions:?}");
    assert!(!functions.iter().any(|row| row.contains(".ts:")), "{functions:?}");
}

/// Makes a .cpuprofile of the bundle; `None` without Node.
fn cpuprofile(shop: &Scratch) -> Option<String> {
    let node = Command::new("node")
        .args(["--cpu-prof", "--cpu-prof-name=app.cpuprofile", "esbuild/app.min.js", "400"])
        .current_dir(&shop.0)
        .output();
    let Ok(node) = node else {
        skip("a .cpuprofile with source maps: node is not here");
        return None;
    };
    assert!(node.status.success(), "{}", stderr(&node));
    Some(shop.path("app.cpuprofile"))
}

#[test]
fn an_imported_profile_names_what_people_wrote() {
    let shop = shop("maps-import");
    let Some(file) = cpuprofile(&shop) else { return };
    assert_originals(&file, &shop);
    assert_generated(&[&file, "--no-source-maps"]);
    let report = json(&["report", "--json", &file]);
    assert!(report["packages"].to_string().contains("tiny-hash"), "{}", report["packages"]);
    let folded = succeeds(&["export", &file, "-o", "-", "--to", "folded"]);
    assert!(
        folded.contains(&format!("countPrimes {}:13:17", shop.path("src/primes.ts"))),
        "{folded}"
    );
    let folded = succeeds(&["export", &file, "-o", "-", "--to", "folded", "--no-source-maps"]);
    assert!(folded.contains("l file://") && !folded.contains("countPrimes"), "{folded}");
    // Elsewhere there is no script, and no message says so.
    fs::remove_dir_all(shop.path("esbuild")).unwrap();
    let output = nodescope(&["report", "--json", &file]).output().unwrap();
    assert_eq!(stderr(&output), "");
    assert!(!stdout(&output).contains("countPrimes"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_recording_names_what_people_wrote() {
    if !program::running::can_record() {
        return;
    }
    let shop = shop("maps-record");
    let script = shop.path("esbuild/app.min.js");
    let record = |options: &[&str], out: &str| {
        let node = [
            "--",
            "node",
            "--perf-basic-prof",
            "--interpreted-frames-native-stack",
            &script,
            "1500",
        ];
        let words = [&["record", "-F", "999", "--overwrite", "-o", out], options, &node].concat();
        let output = nodescope(&words).current_dir(&shop.0).output().unwrap();
        program::running::remove_map(&output);
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let (mapped, plain) = (shop.path("mapped.nodescope"), shop.path("plain.nodescope"));
    record(&[], &mapped);
    assert_originals(&mapped, &shop);
    record(&["--no-source-maps"], &plain);
    assert_generated(&[&plain, "--no-source-maps"]);
    // It is not too late.
    assert_originals(&plain, &shop);
}

#[test]
fn a_damaged_map_is_reported_once() {
    let shop = shop("maps-damaged");
    let Some(file) = cpuprofile(&shop) else { return };
    fs::write(shop.path("esbuild/app.min.js.map"), "{\"version\":3,").unwrap();
    let output = nodescope(&["report", &file]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        stderr(&output).matches("app.min.js.map is not the JSON of a source map").count(),
        1,
        "{}",
        stderr(&output)
    );
}

#[test]
#[cfg(unix)]
fn pipes_and_endless_files_are_not_read() {
    let shop = shop("maps-hostile");
    let Some(file) = cpuprofile(&shop) else { return };
    let map = shop.path("esbuild/app.min.js.map");
    let script = shop.path("esbuild/app.min.js");
    let whole = fs::read_to_string(&script).unwrap();
    let report = || {
        let start = Instant::now();
        let output = nodescope(&["report", &file]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        stderr(&output)
    };
    fs::remove_file(&map).unwrap();
    assert!(Command::new("mkfifo").arg(&map).status().unwrap().success());
    assert_eq!(report(), "");
    fs::remove_file(&map).unwrap();
    for target in ["/dev/zero", "/proc/kmsg", "/proc/self/mem", "/", "app.min.js.map"] {
        std::os::unix::fs::symlink(target, &map).unwrap();
        assert_eq!(report(), "", "{target}");
        fs::remove_file(&map).unwrap();
    }
    fs::File::create(&map).unwrap().set_len(5 << 40).unwrap();
    assert!(report().contains("is too large"));
    fs::remove_file(&map).unwrap();
    // The script itself.
    fs::write(&script, whole.replace("app.min.js.map", "file:///etc/passwd")).unwrap();
    let text = report();
    assert!(text.contains("/etc/passwd is not the JSON") && !text.contains("root:"), "{text}");
    fs::remove_file(&script).unwrap();
    assert!(Command::new("mkfifo").arg(&script).status().unwrap().success());
    assert_eq!(report(), "");
}

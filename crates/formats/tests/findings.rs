//! What stands out in every recording of corpus/: each row was held against what is known of its program. A changed rule
//! shows here on real recordings of every tool and release.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use profile::{Profile, file};
use views::{Report, Selection, weigh_busy};

use crate::cases::cases;

/// The findings of a case, `id` and `id function`; cases without a row have none.
const FINDINGS: &[(&str, &[&str])] = &[
    // A script that makes garbage at its top level. It loads modules, too, and serves no request.
    ("cpuprofile-node26-gc", &["gc"]),
    // The perf map does not show the handlers that V8 has inlined into Express.
    ("node16-http", &["hot-package requestId"]),
    // bill reads YAML all the time.
    ("node22-esm-ts", &["hot-package bill"]),
    ("node22-gc", &["gc churn"]),
    ("node22-regexp", &["regexp backtrack"]),
];

/// Our own recordings were made beside much other work, and each waited for a CPU for most of its time. That accuses no
/// function, and nothing else stands out: their programs work for a fifth of the time.
const OWN: &[&str] = &["cpu-wait"];

fn found(profile: &Profile) -> Vec<String> {
    let (selection, weights) = weigh_busy(profile, &Selection::of_logical());
    let report = Report::without_lists(profile, &weights, &selection);
    let rows = report.findings.into_iter();
    let words = rows.map(|row| match row.place {
        Some(place) => format!("{} {}", row.id, place.function),
        None => row.id.to_owned(),
    });
    words.collect()
}

fn hold(found: &BTreeMap<String, Vec<String>>, expected: impl Fn(&str) -> Vec<&'static str>) {
    let rows = found.iter().filter(|(case, found)| **found != expected(case));
    let rows: Vec<String> = rows.map(|(case, found)| format!("{case}: {found:?}")).collect();
    assert!(rows.is_empty(), "other findings than expected:\n{}", rows.join("\n"));
}

#[test]
fn of_imported_recordings() {
    let found: BTreeMap<String, Vec<String>> =
        cases().iter().map(|case| (case.name.clone(), found(&case.import()))).collect();
    hold(&found, |case| {
        let row = FINDINGS.iter().find(|(name, _)| *name == case);
        row.map_or(Vec::new(), |(_, findings)| findings.to_vec())
    });
}

#[test]
fn of_our_own_recordings() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let folders = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap());
    let read = |entry: fs::DirEntry| {
        let bytes = fs::read(entry.path().join("input.nodescope")).ok()?;
        let profile = file::read(&bytes).unwrap();
        Some((entry.file_name().to_string_lossy().into_owned(), found(&profile)))
    };
    let found: BTreeMap<String, Vec<String>> = folders.filter_map(read).collect();
    assert!(found.len() >= 25, "only {} recordings", found.len());
    hold(&found, |_| OWN.to_vec());
}

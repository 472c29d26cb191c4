//! WebAssembly has its names: each frame is compared with the perf map that V8 itself writes, and what `nodescope
//! record` shows is compared with a program whose shares are known.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use serde_json::Value;
use v8::name::{CodeKind, Tier};
use v8::{FunctionKind, Kind};

use crate::live::maps::PerfMap;
use crate::live::session::{self, Seen, Session};
use crate::live::{VERSIONS, node};
use crate::program::running::{cache, can_record, function, nodes, record_command, some_nodes};
use crate::program::{Scratch, json};
use crate::skip::skip;

/// What was seen of one version.
#[derive(Default)]
struct Score {
    right: usize,
    wrong: Vec<String>,
    /// WebAssembly, according to the map, and we do not know which function.
    unnamed: Vec<String>,
    /// What the map does not call WebAssembly, and we do.
    strange: Vec<String>,
    samples: usize,
    /// Samples in WebAssembly whose callers are there, to the top level.
    with_callers: usize,
    /// Those of the right ones whose tier is not known.
    without_tier: usize,
}

const ENOUGH_FRAMES: usize = 1500;
const MOST_RUNS: usize = 8;

#[test]
fn functions_have_the_names_that_v8_gives_them() {
    for version in VERSIONS {
        let Some(binary) = node(version) else {
            skip(format_args!("Node {version}: it is not in the cache"));
            continue;
        };
        let mut session =
            Session::start(&binary, &["--perf-basic-prof"], &session::program("wasm.js"));
        let mut map = PerfMap::new(session.pid());
        let mut score = Score::default();
        for _ in 0..MOST_RUNS {
            session.run(|seen| {
                map.follow();
                compare(seen, &map, &mut score);
            });
            if score.right >= ENOUGH_FRAMES {
                break;
            }
        }
        let Score { right, wrong, unnamed, strange, samples, with_callers, without_tier } = &score;
        println!(
            "Node {version}: {right} right, {} wrong, {} unnamed, {} strange; {with_callers} of {samples} with callers",
            wrong.len(),
            unnamed.len(),
            strange.len()
        );
        assert!(*right > 300, "{version}: {right} frames are too few");
        assert!(wrong.is_empty(), "{version}: {wrong:#?}");
        // V8 10.1 keeps the tier in another place, which is not known.
        assert!(
            *without_tier == 0 || version == "18.0.0",
            "{version}: {without_tier} have no tier"
        );
        assert!(strange.is_empty(), "{version}: {strange:#?}");
        assert!(
            unnamed.len() * 50 <= *right,
            "{version}: {} of {right}: {unnamed:#?}",
            unnamed.len()
        );
        // Maglev keeps no positions there: what it inlined, such as a caller, is not known.
        let knows_inlined = !["22.0.0", "24.0.0"].contains(&version);
        assert!(
            with_callers * 100 >= samples * 97 || !knows_inlined,
            "{version}: {with_callers} of {samples}"
        );
    }
}

/// Compares all frames of machine code that either side takes for WebAssembly.
fn compare(seen: &Seen<'_>, map: &PerfMap, score: &mut Score) {
    let name_at = |at: usize| {
        let name = seen.names.get(at)?.as_ref().ok()?;
        Some((name, seen.reader.function(name.function)?))
    };
    let mut is_wasm = false;
    for (at, frame) in
        seen.frames.iter().enumerate().filter(|(_, frame)| frame.kind == Kind::Generated)
    {
        let Some(truth) = map.find(frame.instruction()) else { continue };
        let Some(expected) = v8::name::parse(truth) else { continue };
        let found = name_at(at);
        let is_wrapper = |kind| matches!(kind, FunctionKind::WasmToJs | FunctionKind::JsToWasm);
        let is_function =
            expected.kind == CodeKind::Wasm && !expected.function.starts_with("wasm-to-js");
        is_wasm |= is_function && at == 0;
        match found.map(|(name, function)| (function.kind, function, name.tier)) {
            Some((FunctionKind::JavaScript, function, _)) if is_function => {
                score.wrong.push(format!("{truth} is {function:?}"));
            }
            Some((FunctionKind::Wasm { index: Some(_) }, function, tier)) if is_function => {
                let has_tier = tier != Tier::Unmarked;
                let is_same =
                    *function.name == *expected.function && (tier == expected.tier || !has_tier);
                if is_same {
                    score.right += 1;
                    score.without_tier += usize::from(!has_tier);
                } else {
                    score.wrong.push(format!("{truth} is {function:?} {tier:?}"));
                }
            }
            Some((kind, _, _)) if is_function && is_wrapper(kind) => {
                score.wrong.push(format!("{truth} is {kind:?}"));
            }
            _ if is_function => {
                score
                    .unnamed
                    .push(format!("{truth}: {:?}; frame {at} {frame:x?}", seen.names.get(at)));
            }
            Some((FunctionKind::Wasm { .. }, function, _)) if expected.kind != CodeKind::Wasm => {
                score.strange.push(format!("{truth} is {function:?}; frame {at} {frame:x?}"));
            }
            _ => {}
        }
    }
    if is_wasm {
        score.samples += 1;
        let callers = ["turn"];
        let is_caller = |at| {
            name_at(at).is_some_and(|(name, function)| {
                let inlined = name
                    .inlined
                    .iter()
                    .filter_map(|inlined| seen.reader.function(inlined.function));
                inlined.chain([function]).any(|function| callers.contains(&&*function.name))
            })
        };
        score.with_callers += usize::from((0..seen.names.len()).any(is_caller));
    }
}

fn share_of(report: &Value, category: &str) -> f64 {
    let rows = report["categories"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == category).map_or(0.0, |row| row["self"].as_f64().unwrap())
}

/// `[JIT]` has no file, and certainly not a perf map that does not exist.
fn has_no_made_up_file(report: &Value) -> bool {
    !report["functions"]
        .as_array()
        .unwrap()
        .iter()
        .any(|row| row["file"].to_string().contains("/perf-"))
}

#[test]
fn a_recording_has_functions_module_and_callers() {
    if !can_record() {
        return;
    }
    for (release, node) in some_nodes() {
        let scratch = Scratch::new(&format!("wasm-{release}"));
        let out = scratch.path("a.nodescope");
        let path = session::program("wasm.js").display().to_string();
        record_command(&node, &[], &[&path, "1000"], &out);
        let report = json(&["report", "--json", "-n", "0", &out]);
        assert!(share_of(&report, "wasm") > 0.7, "{release}: {}", report["categories"]);
        let time = |name: &str, what: &str| function(&report, name)[what].as_f64().unwrap();
        let (spin, unnamed) = (time("spin", "self"), time("wasm-function[4]", "self"));
        println!("Node {release}: spin {spin:.3}, wasm-function[4] {unnamed:.3}");
        assert!((spin / (spin + unnamed) - 2.0 / 3.0).abs() < 0.1, "{release}: {spin} {unnamed}");
        let module = function(&report, "spin")["file"].as_str().unwrap();
        assert!(module.starts_with("wasm://wasm/shapes-"), "{release}: {module}");
        // In the first releases of a line Maglev's code does not show what is inlined into `round`.
        if !release.ends_with(".0.0") {
            let callers = ["callDeep", "callImport", "callUnnamed"].map(|name| time(name, "total"));
            let all: f64 = callers.iter().sum();
            let is_third = |one: &f64| (one / all - 1.0 / 3.0).abs() < 0.1;
            assert!(all > 0.7 && callers.iter().all(is_third), "{release}: {callers:?}");
        }
        assert!(time("turn", "total") > 0.7, "{release}");
        assert!(has_no_made_up_file(&report), "{release}");
    }
}

const QUERIES: &str = "
const load = require('module').createRequire('PACKAGES/x.js');
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
load('sql.js')().then(({ Database }) => {
  const database = new Database();
  database.run('create table orders (id integer, price real); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) insert into orders select i, i * 0.5 from n');
  function query() { return database.exec('select count(*), sum(a.price * b.id) from orders a join orders b on a.id % 40 = b.id % 40'); }
  while (spent() < 2000) query();
});
";

#[test]
fn sql_js_has_its_time() {
    let packages = cache().join("packages");
    if !can_record() {
        return;
    }
    if !packages.join("node_modules/sql.js").exists() {
        skip("sql.js: scripts/install-test-tools.sh installs it");
        return;
    }
    let releases = ["20.20.2", "24.21.0", "26.10.0"];
    for (release, node) in nodes().into_iter().filter(|(release, _)| releases.contains(release)) {
        let scratch = Scratch::new(&format!("sqljs-{release}"));
        let out = scratch.path("a.nodescope");
        let text = QUERIES.replace("PACKAGES", &packages.display().to_string());
        let path = scratch.file("app.js", text.as_bytes());
        record_command(&node, &[], &[&path], &out);
        let report = json(&["report", "--json", "-n", "0", &out]);
        let (wasm, unknown) = (share_of(&report, "wasm"), share_of(&report, "unknown"));
        let query = function(&report, "query")["total"].as_f64().unwrap();
        println!("Node {release}: wasm {wasm:.3}, unknown {unknown:.3}, under query {query:.3}");
        assert!(
            wasm > 0.5 && unknown < 0.03 && query > wasm * 0.9,
            "{release}: {}",
            report["categories"]
        );
        assert!(has_no_made_up_file(&report), "{release}");
    }
}

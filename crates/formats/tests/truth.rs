//! What is known of the recorded programs (the READMEs of corpus/) must be what we read: the programs measured
//! themselves, or can only have spent their time in one way.

use std::collections::BTreeMap;

use profile::{Category, Profile, Role, StackId, Unit};
use regex::Regex;
use views::{Selection, TopBy, TopKey, TopRow, share, top, weigh};

use crate::cases::{Case, case, cases};

/// Every README states how many samples there are, what they weigh, and whose they are.
#[test]
fn the_readmes_are_true() {
    let (mut counts, mut comms) = (0, 0);
    for case in cases() {
        let profile = case.import();
        let readme = readme(&case);
        if let Some((samples, weight)) = stated_sums(&readme) {
            counts += 1;
            assert_eq!(
                samples,
                samples_by_comm(&profile).values().sum::<u64>(),
                "{}: samples",
                case.name
            );
            if let Some(weight) = weight {
                assert_eq!(
                    weight,
                    weigh(&profile, &Selection::default()).total,
                    "{}: weight",
                    case.name
                );
                assert_eq!(profile.lanes()[0].unit, Unit::Ns, "{}", case.name);
            }
        }
        if let Some(stated) = stated_comms(&readme) {
            comms += 1;
            assert_eq!(stated, samples_by_comm(&profile), "{}: by comm", case.name);
        }
    }
    assert!(counts >= 55 && comms >= 55, "only {counts} and {comms} READMEs state anything");
}

/// The program kept three functions at 50, 30 and 20 % by its own clock. Four standard deviations of a sampling
/// are allowed, and none for the reading.
#[test]
fn known_shares() {
    let profile = case("node22-known-shares").import();
    let rows = functions(&profile, &Selection::default());
    let burners = ["burnA", "burnB", "burnC"].map(|name| rows[name]);
    assert_eq!(burners.map(|row| row.self_samples), [758, 453, 298]);
    let all: u64 = burners.iter().map(|row| row.self_weight).sum();
    let samples: u64 = burners.iter().map(|row| row.self_samples).sum();
    for (row, truth) in burners.iter().zip([0.5, 0.3, 0.2]) {
        assert_near(share(row.self_weight, all), truth, samples);
        assert_eq!(row.category, Category::App);
    }
    assert!(share(all, weigh(&profile, &Selection::default()).total) > 0.99);
}

#[test]
fn garbage_collection_is_seen() {
    let profile = case("node22-gc").import();
    let gc = self_share(&profile, Category::Gc);
    assert!((0.40..0.55).contains(&gc), "GC took {gc}");
    let pattern = Regex::new("Heap::|Scaveng|MarkCompact|ConcurrentMark|Sweep|Evac").unwrap();
    let named = Selection { search: Some(pattern), ..Selection::default() };
    assert_eq!(weigh(&profile, &named).samples, 240);
    // V8's helpers are named as the main thread; all that they do is GC, compiling, and waiting for it.
    let helpers = threads(&profile, Role::V8Platform);
    assert_eq!(profile.threads().len(), 5);
    assert_eq!(helpers.len(), 4);
    let selection = Selection { threads: Some(helpers), ..Selection::default() };
    let weights = weigh(&profile, &selection);
    let rows = top(&profile, &weights, &selection, TopBy::Category);
    let own = |category| {
        rows.iter()
            .find(|row| row.key == TopKey::Category(category))
            .map_or(0, |row| row.self_samples)
    };
    assert_eq!(
        own(Category::App) + own(Category::Dependency) + own(Category::NodeCore),
        0,
        "{rows:#?}"
    );
    assert!(own(Category::Gc) + own(Category::Compiler) > weights.samples * 8 / 10, "{rows:#?}");
}

/// A replace callback is the application's time, although a regular expression called it.
#[test]
fn a_replace_callback_is_app() {
    let profile = case("node22-regexp").import();
    let callbacks: Vec<StackId> = stacks_of(&profile, "maskOne");
    assert!(!callbacks.is_empty());
    for stack in callbacks {
        let row = profile.stacks().row(stack);
        assert_eq!(row.category, Category::App);
        assert_eq!(profile.stacks().row(row.parent).category, Category::Regexp, "what called it");
    }
    assert!(self_share(&profile, Category::Regexp) > 0.8);
    let rows = functions(&profile, &Selection::default());
    let slow = rows["/^(a+)+$/"].self_weight;
    let faster = rows.iter().filter(|(name, _)| name.starts_with('/') && **name != "/^(a+)+$/");
    assert!(faster.map(|(_, row)| row.self_weight).all(|weight| weight < slow));
}

#[test]
fn workers_and_the_main_thread_do_different_work() {
    workers_resize_and_the_main_thread_hashes(&case("node24-workers").import());
}

/// pbkdf2 and gzip run on libuv's pool, and the main thread's JavaScript under uv_run, on every Node.
#[test]
fn the_shop_on_every_node() {
    for version in [18, 20, 22, 24, 26] {
        let profile = case(&format!("node{version}-http")).import();
        let pool = threads(&profile, Role::LibuvPool);
        assert_eq!(pool.len(), 4, "Node {version} has four pool threads");
        let search = |pattern: &str| Some(Regex::new(pattern).unwrap());
        let work =
            Selection { search: search("^PKCS5_PBKDF2_HMAC|^deflate_"), ..Selection::default() };
        let on_pool = Selection { threads: Some(pool), ..work.clone() };
        let (everywhere, on_pool) = (weigh(&profile, &work), weigh(&profile, &on_pool));
        assert!(on_pool.samples > 50, "Node {version}");
        assert_eq!(
            on_pool.total, everywhere.total,
            "Node {version}: pbkdf2 and gzip run on the pool"
        );
        assert_eq!(threads(&profile, Role::MainLoop).len(), 1, "Node {version}");
    }
}

#[test]
fn packages_are_found_in_every_layout() {
    for (name, packages) in [
        ("node22-pnpm", &["fastify", "lodash", "@babel/core", "@babel/traverse", "gensync"][..]),
        ("node20-yarn-pnp", &["postcss", "postcss-nested", "postcss-selector-parser", "lodash"]),
    ] {
        let profile = case(name).import();
        let selection = Selection::default();
        let rows = top(&profile, &weigh(&profile, &selection), &selection, TopBy::Package);
        let found: Vec<&str> = rows
            .iter()
            .map(|row| match row.key {
                TopKey::Package(id, _) => profile.text(id),
                _ => panic!("a list of packages has other rows"),
            })
            .collect();
        for package in packages {
            assert!(found.contains(package), "{name}: {package} is not among {found:?}");
        }
    }
}

#[test]
fn application_code_is_recognised_by_its_place() {
    for (name, functions_of_app) in [
        ("node22-esm-ts", &["bill", "order", "get total", "tax"][..]),
        ("node26-kinds", &["spin"]),
        ("node22-unicode", &["計算する", "get 値"]),
    ] {
        let rows = case(name).import();
        let rows = functions(&rows, &Selection::default());
        for function in functions_of_app {
            assert_eq!(rows[function].category, Category::App, "{name}: {function}");
        }
    }
    let profile = case("node22-eval").import();
    for (name, row) in functions(&profile, &Selection::default()) {
        // A perf map does not show what generated a script; `vm` may give scripts a name.
        let is_nameless = name.ends_with("Eval") || name == "viaUnnamedVm";
        let expected = if is_nameless { Category::Unknown } else { Category::App };
        assert!(!name.starts_with("via") || row.category == expected, "{name}: {:?}", row.category);
    }
    let unmapped = case("node22-noflags").import();
    assert!(
        unmapped.frames().tier.iter().all(|tier| !tier.is_javascript()),
        "no perf map, no JavaScript"
    );
}

#[test]
fn webassembly_has_the_time() {
    let profile = case("node22-wasm").import();
    let rows = functions(&profile, &Selection::default());
    assert_eq!((rows["spin loop;1"].self_samples, rows["mix"].self_samples), (276, 93));
    assert!(self_share(&profile, Category::Wasm) > 0.9);
}

#[test]
fn addons_are_on_the_threads_that_call_them() {
    let profile = case("node22-addon").import();
    let modules = |role| {
        let selection =
            Selection { threads: Some(threads(&profile, role)), ..Selection::default() };
        let rows = top(&profile, &weigh(&profile, &selection), &selection, TopBy::File);
        let name = |row: &TopRow| match row.key {
            TopKey::Module(id) => profile.module_name(id).unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        rows.iter().map(name).filter(|name| name.ends_with(".node")).collect::<Vec<_>>().join(" ")
    };
    let (main, pool) = (modules(Role::MainLoop), modules(Role::LibuvPool));
    assert!(main.contains("xxhash") && main.contains("bcrypt"), "{main}");
    assert!(!pool.contains("xxhash") && pool.contains("bcrypt"), "{pool}");
}

#[test]
fn an_idle_cpu_is_no_load() {
    let profile = case("perf-system-idle").import();
    let selection = Selection { categories: Some(vec![Category::Idle]), ..Selection::default() };
    let idle = weigh(&profile, &selection);
    let of_swapper = |thread| profile.text(profile.thread(thread).name) == "swapper";
    assert!(idle.entries.iter().all(|entry| of_swapper(entry.thread)));
    assert!(idle.samples >= 140, "{} of 154 samples of swapper are idle", idle.samples);
}

#[test]
fn inlined_functions_are_frames_of_their_own() {
    let profile = case("perf-inline").import();
    for stack in stacks_of(&profile, "geometry::accumulate<double>") {
        let caller = profile.stacks().row(stack).parent;
        assert_eq!(function_name(&profile, caller), "hot");
    }
    for stack in stacks_of(&profile, "hot") {
        let caller = profile.stacks().row(stack).parent.some();
        assert!(
            caller.is_none_or(|caller| function_name(&profile, caller) != "hot"),
            "hot calls hot"
        );
    }
}

/// Times are read in every way that perf prints them: the recordings of one program last equally long.
#[test]
fn times_mean_the_same_in_every_form() {
    for name in [
        "perf-ns",
        "perf-pidtid",
        "perf-reltime",
        "perf-deltatime",
        "perf-tod",
        "perf-misc",
        "perf-header-comments",
        "perf-nochain",
        "perf-5.10",
        "perf-6.12-pidtid",
    ] {
        let profile = case(name).import();
        let seconds = profile.duration_ns() as f64 / 1e9;
        assert!((0.9..1.5).contains(&seconds), "{name} lasts {seconds} s");
        assert!(profile.lanes()[0].timed);
    }
}

/// Four workers did equal work, and their functions are the same functions.
#[test]
fn a_cluster_shares_its_work() {
    let profile = case("node22-cluster").import();
    let selection = Selection::default();
    let weights = weigh(&profile, &selection);
    let rows = top(&profile, &weights, &selection, TopBy::Thread);
    for row in &rows[..4] {
        assert_near(share(row.self_weight, weights.total), 0.25, weights.samples);
    }
    let named_primes =
        profile.functions().name.iter().filter(|name| profile.text(**name) == "primes");
    assert_eq!(named_primes.count(), 1);
}

/// A share of a sampling lies within four standard deviations of the truth.
fn assert_near(share: f64, truth: f64, samples: u64) {
    let allowed = 4.0 * (truth * (1.0 - truth) / samples as f64).sqrt();
    assert!((share - truth).abs() <= allowed, "{share} is not within {allowed} of {truth}");
}

/// The rows of all functions by name. Of functions with one name, the first in the list: the hottest.
fn functions<'a>(profile: &'a Profile, selection: &Selection) -> BTreeMap<&'a str, TopRow> {
    let rows = top(profile, &weigh(profile, selection), selection, TopBy::Function);
    let mut named = BTreeMap::new();
    for row in rows {
        if let TopKey::Function(id) = row.key {
            named.entry(profile.text(profile.functions().row(id).name)).or_insert(row);
        }
    }
    named
}

fn self_share(profile: &Profile, category: Category) -> f64 {
    let selection = Selection::default();
    let weights = weigh(profile, &selection);
    let rows = top(profile, &weights, &selection, TopBy::Category);
    let row = rows.iter().find(|row| row.key == TopKey::Category(category));
    row.map_or(0.0, |row| share(row.self_weight, weights.total))
}

fn threads(profile: &Profile, role: Role) -> Vec<profile::ThreadId> {
    let rows = profile.threads().iter().enumerate().filter(|(_, thread)| thread.role == role);
    rows.map(|(row, _)| profile::ThreadId::from_index(row)).collect()
}

fn stacks_of(profile: &Profile, function: &str) -> Vec<StackId> {
    profile.stacks().ids().filter(|id| function_name(profile, *id) == function).collect()
}

fn function_name(profile: &Profile, stack: StackId) -> &str {
    profile.text(profile.function_of(profile.stacks().row(stack).frame).name)
}

fn samples_by_comm(profile: &Profile) -> BTreeMap<String, u64> {
    let mut comms = BTreeMap::new();
    for lane in profile.lanes() {
        for thread in &lane.samples.thread {
            *comms.entry(profile.text(profile.thread(*thread).name).to_owned()).or_default() += 1;
        }
    }
    comms
}

fn readme(case: &Case) -> String {
    let folder = format!("{}/../../corpus/{}", env!("CARGO_MANIFEST_DIR"), case.name);
    std::fs::read_to_string(format!("{folder}/README.md")).unwrap()
}

/// `- 712 samples, weight 3577889000 ns.`, or without the weight where there are several events.
fn stated_sums(readme: &str) -> Option<(u64, Option<u64>)> {
    let line =
        Regex::new(r"(?m)^- (\d+) samples, (?:weight (\d+) ns|events not added together)\.$")
            .unwrap();
    let parts = line.captures(readme)?;
    Some((parts[1].parse().unwrap(), parts.get(2).map(|weight| weight.as_str().parse().unwrap())))
}

/// ``- By comm: `node` 552, `libuv-worker` 143.``
fn stated_comms(readme: &str) -> Option<BTreeMap<String, u64>> {
    let line = readme.lines().find_map(|line| line.strip_prefix("- By comm: "))?;
    let parts = Regex::new("`([^`]*)` ([0-9]+)[,.]").unwrap();
    let comm = |text: &str| text.replace("\\x1b", "\u{1b}");
    Some(parts.captures_iter(line).map(|part| (comm(&part[1]), part[2].parse().unwrap())).collect())
}

/// Functions and regular expressions have the self ticks that V8's own tick processor counts. It numbers
/// functions of one name (`next {1}`), spells nameless ones, knows no marker but
/// the four oldest, and gives builtins inside Node's binary to it.
#[test]
fn prof_logs_have_the_ticks_of_prof_process() {
    let number = Regex::new(r" \{\d+\}$").unwrap();
    let marker = Regex::new(r"^JS:o?([+*])'?").unwrap();
    let mut rows = 0;
    for case in cases() {
        let Some(text) = expected_ticks(&case) else { continue };
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for line in text.lines() {
            let (ticks, name) = line.split_once('\t').unwrap();
            let name = number.replace(name, "").replacen(": ", ":", 1).replace("<anonymous> ", " ");
            *expected.entry(name).or_default() += ticks.parse::<u64>().unwrap();
        }
        let is_compared =
            |name: &str| !name.starts_with("Builtin:") && !name.starts_with("BytecodeHandler:");
        expected.retain(|name, _| is_compared(name));
        rows += expected.len();
        let mut ours: BTreeMap<String, u64> = BTreeMap::new();
        for (name, ticks) in generated_self_samples(&case.import()) {
            if is_compared(&name) {
                *ours.entry(marker.replace(&name, "JS:$1").into_owned()).or_default() += ticks;
            }
        }
        assert_eq!(ours, expected, "{}", case.name);
    }
    assert!(rows >= 80, "only {rows} functions were compared");
}

/// The JSON that Node makes of a log contains the same as the log.
#[test]
fn a_preprocessed_log_contains_the_same() {
    let (log, json) =
        (case("node22-prof-http").import(), case("node22-prof-preprocessed").import());
    assert_eq!(log.lanes()[0].samples.time_ns, json.lanes()[0].samples.time_ns);
    let untagged = |profile: &Profile| -> BTreeMap<String, u64> {
        let mut samples = BTreeMap::new();
        for (name, count) in generated_self_samples(profile) {
            *samples.entry(name.split_once(':').unwrap().1.to_owned()).or_default() += count;
        }
        samples
    };
    assert_eq!(untagged(&log), untagged(&json));
    for category in
        [Category::Gc, Category::Compiler, Category::Regexp, Category::Idle, Category::App]
    {
        assert_eq!(self_share(&log, category), self_share(&json, category), "{category:?}");
    }
}

#[test]
fn isolates_behind_each_other_stay_apart() {
    workers_resize_and_the_main_thread_hashes(&case("node24-prof-workers").import());
}

/// The self samples of V8's code by the name as it was written.
fn generated_self_samples(profile: &Profile) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for stack in profile.lanes()[0].samples.stack.iter().filter_map(|stack| stack.some()) {
        let symbol = profile.text(profile.frames().row(profile.stacks().row(stack).frame).symbol);
        if v8::name::parse(symbol).is_some() {
            *samples.entry(symbol.to_owned()).or_default() += 1;
        }
    }
    samples
}

fn expected_ticks(case: &Case) -> Option<String> {
    let folder = format!("{}/../../corpus/{}", env!("CARGO_MANIFEST_DIR"), case.name);
    std::fs::read_to_string(format!("{folder}/expected.ticks")).ok()
}

fn workers_resize_and_the_main_thread_hashes(profile: &Profile) {
    for (role, mine, not_mine) in
        [(Role::Worker, "resizeImage", "hash"), (Role::MainLoop, "hash", "resizeImage")]
    {
        let selection = Selection { threads: Some(threads(profile, role)), ..Selection::default() };
        let rows = functions(profile, &selection);
        assert!(rows.contains_key(mine) && !rows.contains_key(not_mine), "{role:?}");
    }
    assert_eq!(threads(profile, Role::Worker).len(), 3);
}

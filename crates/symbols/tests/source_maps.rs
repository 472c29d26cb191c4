//! Source maps end to end, without a disk: profiles whose functions stand where V8 puts them in the outputs of real
//! tools (`tests/maps`), and hostile files.

use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use naming::add;
use naming::name_call_frame;
use profile::{
    Builder, Category, Frame, LaneInfo, LineTick, ModuleId, NO_ADDRESS, Profile, Sample, StackId,
    Tier, Unit,
};
use symbols::source_maps::{
    Carried, KnownScripts, MapPlaces, RanScript, TextLimits, apply, apply_ran, text_of, with_texts,
};
use symbols::{Files, OpenFile};

/// Files that exist in a test only, by root and path; remembers what was opened.
#[derive(Default)]
struct MadeUp {
    files: BTreeMap<(Option<PathBuf>, PathBuf), Vec<u8>>,
    opened: Mutex<Vec<PathBuf>>,
}

impl MadeUp {
    fn with(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert((None, path.into()), bytes.into());
        self
    }

    fn with_root(mut self, root: &str, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert((Some(root.into()), path.into()), bytes.into());
        self
    }

    fn opened(&self) -> Vec<String> {
        self.opened.lock().unwrap().iter().map(|path| path.display().to_string()).collect()
    }
}

impl Files for MadeUp {
    fn open(&self, root: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        self.opened.lock().unwrap().push(path.into());
        let key = (root.map(Path::to_owned), path.to_owned());
        let bytes = self.files.get(&key).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes.clone())))
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/maps").join(name)).unwrap()
}

/// A script of the fixtures and its map, as if they stood in /srv/shop.
fn shop(names: &[&str]) -> MadeUp {
    let add = |files: MadeUp, name: &&str| files.with(&format!("/srv/shop/{name}"), fixture(name));
    names.iter().fold(MadeUp::default(), add)
}

/// A function at a place; and the line and column that ran.
type Row<'a> = (&'a str, &'a str, (u32, u32), (u32, u32));

/// One stack of these functions, from its root, in one process.
fn profile_of(rows: &[Row<'_>]) -> Profile {
    profile_of_processes(&[(None, rows)])
}

fn profile_of_processes(processes: &[(Option<u32>, &[Row<'_>])]) -> Profile {
    let mut builder = Builder::new();
    builder.meta().format = "made up".into();
    let lane = builder.lane(LaneInfo { name: "cpu", unit: Unit::Ns, timed: true, counted: true });
    for (time_ns, (pid, rows)) in (1000..).zip(processes) {
        let thread = add::thread(&mut builder, *pid, Some(7), "node");
        let mut stack = StackId::NONE;
        for (name, source, (line, column), ran) in *rows {
            let named = name_call_frame(name, source, *line, *column, Tier::Turbofan);
            let function = add::function(&mut builder, &named, ModuleId::NONE);
            let symbol = builder.string(&format!("JS:*{name} {source}:{line}:{column}"));
            let frame = builder.frame(Frame {
                function,
                line: ran.0,
                column: ran.1,
                category: named.category,
                tier: named.tier,
                inlined: false,
                address: NO_ADDRESS,
                symbol,
            });
            stack = builder.stack(stack, frame);
            if ran.0 > 0 {
                builder.line_tick(LineTick { stack, line: ran.0, ticks: 1 });
            }
        }
        builder.sample(lane, Sample { time_ns, thread, stack, weight: 10 });
    }
    builder.finish()
}

fn applied(profile: &Profile, files: &MadeUp) -> Profile {
    applied_with(profile, files, None, &BTreeMap::new())
}

fn applied_with(
    profile: &Profile,
    files: &MadeUp,
    root: Option<&Path>,
    roots: &BTreeMap<u32, PathBuf>,
) -> Profile {
    let after = apply(profile.clone(), &MapPlaces { files, root, roots });
    assert_eq!(after.check(), Ok(()));
    after
}

/// Each function as `name path:line:column [ran line:column] package category`.
fn spelt(profile: &Profile) -> Vec<String> {
    let frame = |id| {
        let (frame, function) = (profile.frames().row(id), profile.function_of(id));
        let mut text = format!(
            "{} {}:{}:{}",
            profile.text(function.name),
            profile.source_path(function.source).unwrap_or_default(),
            function.line,
            function.column
        );
        if frame.line > 0 {
            text += &format!(" ran {}:{}", frame.line, frame.column);
        }
        if frame.category != Category::App {
            text += &format!(" {} {}", profile.text(function.package), frame.category.word());
        }
        text
    };
    profile.frames().ids().map(frame).collect()
}

const BUNDLE: &str = "file:///srv/shop/esbuild/app.min.js";

/// What `node --cpu-prof` shows of the bundle.
const BUNDLE_ROWS: &[Row<'_>] = &[
    ("", BUNDLE, (1, 1), (0, 0)),
    ("v", BUNDLE, (1, 1042), (1, 1090)),
    ("s", BUNDLE, (1, 762), (0, 0)),
    ("totalPrice", BUNDLE, (1, 792), (0, 0)),
    ("l", BUNDLE, (1, 975), (0, 0)),
    ("P", BUNDLE, (1, 907), (0, 0)),
    ("u.hashRounds", BUNDLE, (1, 601), (0, 0)),
    ("", BUNDLE, (1, 563), (0, 0)),
];

const BUNDLE_ORIGINALS: &[&str] = &[
    "(top level) /srv/shop/esbuild/app.min.js:1:1",
    "runShop /srv/shop/src/main.ts:10:18 ran 13:10",
    "Basket /srv/shop/src/basket.ts:10:3",
    "totalPrice /srv/shop/src/basket.ts:14:3",
    "countPrimes /srv/shop/src/primes.ts:13:17",
    "isPrime /srv/shop/src/primes.ts:3:10",
    "exports.hashRounds /srv/shop/node_modules/tiny-hash/index.js:4:22 tiny-hash dependency",
    "(anonymous) /srv/shop/node_modules/tiny-hash/index.js:1:1 tiny-hash dependency",
];

#[test]
fn a_minified_bundle_has_its_names_back() {
    let files = shop(&["esbuild/app.min.js", "esbuild/app.min.js.map"]);
    let profile = applied(&profile_of(BUNDLE_ROWS), &files);
    assert_eq!(spelt(&profile), BUNDLE_ORIGINALS);
    assert!(profile.meta().losses.damage.is_empty());
    // What it was made of is known, and folded output has the new names.
    let original =
        profile.sources().iter().find(|row| profile.text(row.path).ends_with("main.ts")).unwrap();
    assert_eq!(profile.source_path(original.generated), Some("/srv/shop/esbuild/app.min.js"));
    let symbols: Vec<&str> = profile.frames().symbol.iter().map(|id| profile.text(*id)).collect();
    assert!(symbols.contains(&"JS:*countPrimes /srv/shop/src/primes.ts:13:17"), "{symbols:?}");
    // Nothing else is opened but what shows where the project is, and no original.
    let opened = files.opened();
    let is_expected = |path: &String| {
        path.starts_with("/srv/shop/esbuild/app.min.js") || path.ends_with("/package.json")
    };
    assert!(opened.iter().all(is_expected), "{opened:?}");
    // Once is enough.
    assert_eq!(applied(&profile, &files), profile);
}

#[test]
fn an_inline_map_gives_the_same() {
    let rows: Vec<String> =
        BUNDLE_ROWS.iter().map(|_| BUNDLE.replace("esbuild", "inline")).collect();
    let rows: Vec<Row<'_>> = BUNDLE_ROWS
        .iter()
        .zip(&rows)
        .map(|((name, _, defined, ran), source)| (*name, source.as_str(), *defined, *ran))
        .collect();
    let expected: Vec<String> =
        BUNDLE_ORIGINALS.iter().map(|text| text.replace("esbuild", "inline")).collect();
    assert_eq!(spelt(&applied(&profile_of(&rows), &shop(&["inline/app.min.js"]))), expected);
}

#[test]
fn typescript_has_its_lines() {
    let script = "/srv/shop/tsc/primes.js";
    let rows: &[Row<'_>] = &[
        ("", script, (1, 1), (0, 0)),
        ("countPrimes", script, (13, 21), (16, 13)),
        ("isPrime", script, (4, 17), (6, 0)),
        ("isPrime", script, (4, 0), (0, 0)),
    ];
    let profile = applied(&profile_of(rows), &shop(&["tsc/primes.js", "tsc/primes.js.map"]));
    assert_eq!(
        spelt(&profile),
        [
            "(top level) /srv/shop/src/primes.ts:1:1",
            "countPrimes /srv/shop/src/primes.ts:13:28 ran 16:9",
            "isPrime /srv/shop/src/primes.ts:3:17 ran 5:0",
            "isPrime /srv/shop/src/primes.ts:3:0",
        ]
    );
    assert_eq!(profile.line_ticks().line, [16, 5]);
}

#[test]
fn webpack_is_seen_from_its_project() {
    let script = "/srv/shop/webpack/app.js";
    let rows: &[Row<'_>] = &[
        ("", script, (1, 2), (0, 0)),
        ("totalPrice", script, (1, 275), (0, 0)),
        ("t.countPrimes", script, (1, 480), (0, 0)),
        ("t.hashRounds", script, (1, 57), (0, 0)),
    ];
    let files = shop(&["webpack/app.js", "webpack/app.js.map", "package.json"]);
    let expected = [
        "(anonymous) /srv/shop/webpack/app.js:1:2",
        "totalPrice /srv/shop/tsc/basket.js:10:5",
        "exports.countPrimes /srv/shop/tsc/primes.js:13:1",
        "exports.hashRounds /srv/shop/node_modules/tiny-hash/index.js:4:22 tiny-hash dependency",
    ];
    assert_eq!(spelt(&applied(&profile_of(rows), &files)), expected);
    let files = shop(&["webpack/app.js", "webpack/app.js.map"]);
    let expected: Vec<String> = expected
        .iter()
        .map(|row| {
            row.replace("/srv/shop/tsc", "webpack://shop/tsc")
                .replace("/srv/shop/node", "webpack://shop/node")
        })
        .collect();
    assert_eq!(spelt(&applied(&profile_of(rows), &files)), expected);
}

#[test]
fn an_index_map_is_one_map() {
    let script = "/srv/shop/index/app.js";
    let rows: &[Row<'_>] =
        &[("isPrime", script, (4, 17), (0, 0)), ("totalPrice", script, (31, 15), (0, 0))];
    let profile = applied(&profile_of(rows), &shop(&["index/app.js", "index/app.js.map"]));
    assert_eq!(
        spelt(&profile),
        ["isPrime /srv/shop/src/primes.ts:3:17", "totalPrice /srv/shop/src/basket.ts:14:13"]
    );
}

#[test]
fn one_function_in_two_bundles_is_one() {
    let files = shop(&["esbuild/app.min.js", "esbuild/app.min.js.map", "inline/app.min.js"]);
    let rows: &[Row<'_>] =
        &[("l", BUNDLE, (1, 975), (0, 0)), ("l", "/srv/shop/inline/app.min.js", (1, 975), (0, 0))];
    let profile = applied(&profile_of(rows), &files);
    assert_eq!((profile.functions().len(), profile.stacks().len()), (1, 2));
}

#[test]
fn a_packages_code_stays_the_packages() {
    let script = "/srv/node_modules/dep/dist/a.js";
    let map =
        r#"{"version":3,"sources":["webpack://dep/./src/a.ts"],"names":[],"mappings":"AAAA"}"#;
    let files =
        MadeUp::default().with(script, "function f(){}").with(&format!("{script}.map"), map);
    let profile = applied(&profile_of(&[("f", script, (1, 11), (0, 0))]), &files);
    assert_eq!(spelt(&profile), ["f webpack://dep/src/a.ts:1:1 dep dependency"]);
}

#[test]
fn containers_have_their_own_files() {
    let (script, map) = ("/srv/shop/tsc/primes.js", "/srv/shop/tsc/primes.js.map");
    let rows: &[Row<'_>] = &[("isPrime", script, (4, 17), (0, 0))];
    let profile = profile_of_processes(&[(Some(1), rows), (Some(2), rows)]);
    let inside = |files: MadeUp, root: &str| {
        files.with_root(root, script, fixture("tsc/primes.js")).with_root(
            root,
            map,
            fixture("tsc/primes.js.map"),
        )
    };
    let roots: BTreeMap<u32, PathBuf> = [(1, "/a".into()), (2, "/b".into())].into();
    let mapped = ["isPrime /srv/shop/src/primes.ts:3:17"];
    let generated = ["isPrime /srv/shop/tsc/primes.js:4:17"];
    // In both, in one, on the host only.
    let both = inside(inside(MadeUp::default(), "/a"), "/b");
    assert_eq!(spelt(&applied_with(&profile, &both, None, &roots)), mapped);
    assert_eq!(
        spelt(&applied_with(&profile, &inside(MadeUp::default(), "/b"), None, &roots)),
        mapped
    );
    let host = shop(&["tsc/primes.js", "tsc/primes.js.map"]);
    assert_eq!(spelt(&applied_with(&profile, &host, None, &roots)), generated);
    // Two that differ.
    let other = format!("{}\n", String::from_utf8(fixture("tsc/primes.js")).unwrap());
    let differing = both.with_root("/b", script, other);
    let after = applied_with(&profile, &differing, None, &roots);
    assert_eq!(spelt(&after), generated);
    assert!(after.meta().losses.damage[0].contains("differs"), "{:?}", after.meta().losses.damage);
    // One root for all comes before ours.
    let root = Path::new("/b");
    let files = inside(MadeUp::default(), "/b");
    assert_eq!(spelt(&applied_with(&profile, &files, Some(root), &BTreeMap::new())), mapped);
    assert_eq!(spelt(&applied_with(&profile, &host, Some(root), &BTreeMap::new())), mapped);
}

#[test]
fn what_is_not_there_is_looked_for_once() {
    let rows: &[Row<'_>] = &[
        ("a", "/srv/a.js", (1, 1), (0, 0)),
        ("b", "/srv/a.js", (2, 1), (0, 0)),
        ("c", "node:fs", (2, 1), (0, 0)),
        ("d", "https://example.com/d.js", (2, 1), (0, 0)),
        ("e", "relative.js", (2, 1), (0, 0)),
        ("f", "", (2, 1), (0, 0)),
    ];
    let (before, files) = (profile_of(rows), MadeUp::default());
    let after = applied(&before, &files);
    assert_eq!(spelt(&after), spelt(&before));
    assert_eq!(files.opened(), ["/srv/a.js"]);
    assert_eq!(applied(&after, &MadeUp::default()), after);
}

/// A script that names this map, and what comes of it: damage, or silence.
fn damage_of(comment: &str, map: &str) -> (Vec<String>, Vec<String>) {
    let script = "/srv/dist/a.js";
    let files = MadeUp::default()
        .with(script, format!("function f(){{}}\n//# sourceMappingURL={comment}\n"))
        .with("/srv/dist/a.map", map)
        .with("/etc/shadow", "root:$6$secret:19000:0:99999:7:::\n");
    let before = profile_of(&[("f", script, (1, 11), (0, 0))]);
    let after = applied(&before, &files);
    assert_eq!(spelt(&after), spelt(&before), "{comment} {map}");
    (after.meta().losses.damage.clone(), files.opened())
}

#[test]
fn bad_maps_change_nothing() {
    let with = |mappings: &str| {
        format!(
            r#"{{"version":3,"sources":["../../../../etc/passwd"],"names":[],"mappings":"{mappings}"}}"#
        )
    };
    for map in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        &with("AAAAA"),
        &with("A".repeat(99).as_str()),
        &with("gggggggggggggggggggE"),
    ] {
        let (damage, _) = damage_of("a.map", map);
        // An empty file is none.
        assert_eq!(damage.len(), usize::from(!map.is_empty()), "{map}: {damage:?}");
    }
    for url in
        ["http://example.com/a.map", "missing.map", "data:,", "data:application/json;base64,####"]
    {
        let (damage, opened) = damage_of(url, "");
        assert!(opened.iter().all(|path| path.starts_with("/srv/dist/")), "{opened:?}");
        assert_eq!(damage.len(), usize::from(url == "data:,"), "{url}: {damage:?}");
    }
    // Any file may be named; its content is never shown.
    let (damage, _) = damage_of("file:///etc/shadow", "");
    assert!(
        damage.len() == 1 && !damage[0].contains("secret") && !damage[0].contains("root"),
        "{damage:?}"
    );
}

#[test]
fn originals_are_never_opened() {
    let script = "/srv/dist/a.js";
    let map = r#"{"version":3,"sources":["../../../../etc/passwd"],"names":[],"mappings":"AAAA"}"#;
    let files = MadeUp::default()
        .with(script, "function f(){}")
        .with(&format!("{script}.map"), map)
        .with("/etc/passwd", "root:x:0:0");
    let after = applied(&profile_of(&[("f", script, (1, 11), (0, 0))]), &files);
    assert_eq!(spelt(&after), ["f /etc/passwd:1:1"]);
    assert!(!files.opened().contains(&"/etc/passwd".into()));
}

#[test]
fn a_script_that_changed_is_not_mapped() {
    let rows: &[Row<'_>] = &[("l", BUNDLE, (1, 975), (0, 0)), ("m", BUNDLE, (80, 1), (0, 0))];
    let before = profile_of(rows);
    let after = applied(&before, &shop(&["esbuild/app.min.js", "esbuild/app.min.js.map"]));
    assert_eq!(spelt(&after), spelt(&before));
    assert!(
        after.meta().losses.damage[0].contains("has changed"),
        "{:?}",
        after.meta().losses.damage
    );
}

#[test]
fn no_damage_of_a_real_map_panics() {
    let whole = fixture("esbuild/app.min.js.map");
    let script = fixture("esbuild/app.min.js");
    let before = profile_of(BUNDLE_ROWS);
    let mutate = |bytes: Vec<u8>| {
        let files = MadeUp::default()
            .with("/srv/shop/esbuild/app.min.js", script.clone())
            .with("/srv/shop/esbuild/app.min.js.map", bytes);
        assert_eq!(applied(&before, &files).lanes()[0].samples.len(), 1);
    };
    for end in (0..whole.len()).step_by(7) {
        mutate(whole[..end].to_vec());
    }
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        mutate(bytes);
    }
}

#[test]
fn a_hostile_map_costs_little() {
    let many = |text: &str| text.repeat((60 << 20) / text.len());
    let maps = [
        format!(r#"{{"version":3,"sources":["a"],"names":[],"mappings":"{}"}}"#, many(";")),
        format!(r#"{{"version":3,"sources":["a"],"names":[],"mappings":"{}"}}"#, many("A,")),
        format!(r#"{{"version":3,"sources":["a"],"names":[],"mappings":"{}"}}"#, many("g")),
        format!(
            r#"{{"version":3,"sources":[{}"a"],"names":[],"mappings":"AAAA"}}"#,
            many(r#""","#)
        ),
        format!(
            r#"{{"version":3,"sections":[{}0]}}"#,
            many(r#"{"offset":{"line":0,"column":0}},"#)
        ),
        many("["),
    ];
    for map in maps {
        let files =
            MadeUp::default().with("/srv/a.js", "function f(){}").with("/srv/a.js.map", map);
        let before = profile_of(&[("f", "/srv/a.js", (1, 11), (0, 0))]);
        let start = Instant::now();
        let after = applied(&before, &files);
        // Builds for tests are slow, and other tests run meanwhile.
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        assert_eq!(spelt(&after), spelt(&before));
        assert_eq!(after.meta().losses.damage.len(), 1);
    }
}

/// The sources that come along, by path, and the notes about them.
fn texts(
    profile: &Profile,
    files: &MadeUp,
    roots: &BTreeMap<u32, PathBuf>,
    limits: TextLimits,
) -> (Vec<(String, String)>, Carried) {
    let (profile, carried) =
        with_texts(profile.clone(), &MapPlaces { files, root: None, roots }, limits);
    profile.check().unwrap();
    let rows = (0..profile.sources().len()).map(profile::SourceId::from_index);
    let found = rows.filter_map(|id| {
        Some((profile.source_path(id)?.to_owned(), profile.source_text(id)?.to_owned()))
    });
    (found.collect(), carried)
}

const MUCH: TextLimits = TextLimits { each: 1000, all: 1000 };

fn pair(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

#[test]
fn the_hottest_texts_come_first() {
    let rows: [&[Row<'_>]; 2] = [
        &[("root", "/a.js", (1, 1), (1, 1)), ("hot", "/b.js", (1, 1), (1, 1))],
        &[("root", "/a.js", (1, 1), (1, 1)), ("large", "/c.js", (1, 1), (1, 1))],
    ];
    let profile = profile_of_processes(&[(None, rows[0]), (None, rows[0]), (None, rows[1])]);
    let files =
        MadeUp::default().with("/a.js", "aaaa").with("/b.js", "bbbb").with("/c.js", "c".repeat(9));
    let none = BTreeMap::new();
    let (found, carried) = texts(&profile, &files, &none, MUCH);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(carried, Carried { sources: 3, bytes: 17, left_out: 0 });
    // The one that ran most has room; then the next that fits.
    let (found, carried) = texts(&profile, &files, &none, TextLimits { each: 1000, all: 8 });
    assert_eq!(found, [pair("/a.js", "aaaa"), pair("/b.js", "bbbb")]);
    assert_eq!(carried, Carried { sources: 2, bytes: 8, left_out: 1 });
    let (found, _) = texts(&profile, &files, &none, TextLimits { each: 1000, all: 5 });
    assert_eq!(found, [pair("/b.js", "bbbb")]);
    let (found, carried) = texts(&profile, &files, &none, TextLimits { each: 3, all: 1000 });
    assert_eq!((found.len(), carried.left_out), (0, 3));
}

#[test]
fn texts_of_containers_come_from_their_roots() {
    let row: &[Row<'_>] = &[("hot", "/srv/a.js", (1, 1), (1, 1))];
    let profile = profile_of_processes(&[(Some(7), row)]);
    let files =
        MadeUp::default().with("/srv/a.js", "ours").with_root("/root7", "/srv/a.js", "theirs");
    let roots = BTreeMap::from([(7, PathBuf::from("/root7"))]);
    assert_eq!(texts(&profile, &files, &roots, MUCH).0, [pair("/srv/a.js", "theirs")]);
    assert_eq!(texts(&profile, &files, &BTreeMap::new(), MUCH).0, [pair("/srv/a.js", "ours")]);
    // What is not in its root is nowhere.
    let roots = BTreeMap::from([(7, PathBuf::from("/root8"))]);
    assert_eq!(texts(&profile, &files, &roots, MUCH).0, []);
}

#[test]
fn only_scripts_are_opened_for_their_text() {
    let map = r#"{"version":3,"sources":["a.ts","../../etc/passwd"],"sourcesContent":["let a","p"],"names":[],"mappings":"AAAA"}"#;
    let files = MadeUp::default()
        .with("/etc/passwd", "root:")
        .with("/srv/a.js", "a()\n//# sourceMappingURL=a.js.map")
        .with("/srv/a.js.map", map)
        .with("/srv/plain.txt", "text")
        .with("/srv/film.ts", "G\0\u{1}")
        .with("/srv/b.tsx", "b");
    let roots = BTreeMap::new();
    let places = MapPlaces { files: &files, root: None, roots: &roots };
    let text = |path: &str, generated: Option<&str>| text_of(path, generated, &places, 100);
    assert_eq!(text("/srv/b.tsx", None).as_deref(), Some("b"));
    assert_eq!(text("file:///srv/b.tsx", None).as_deref(), Some("b"));
    assert_eq!(text("/srv/a.ts", Some("/srv/a.js")).as_deref(), Some("let a"));
    for path in [
        "/etc/passwd",
        "/srv/plain.txt",
        "/srv/film.ts",
        "/srv/gone.js",
        "srv/b.tsx",
        "node:fs",
        "https://x/b.js",
        "/srv/.js",
        "",
    ] {
        assert_eq!(text(path, None), None, "{path}");
    }
    assert_eq!(text_of("/srv/b.tsx", None, &places, 0), None);
    // A map that is no map, and a script that is none.
    assert_eq!(text("/srv/a.ts", Some("/etc/passwd")), None);
    let opened = files.opened();
    assert!(
        !opened.contains(&"/etc/passwd".to_owned())
            && !opened.contains(&"/srv/plain.txt".to_owned()),
        "{opened:?}"
    );
}

/// What `next build` leaves: a package.json of its own in `.next`, and the addresses of its maps.
#[test]
fn next_js_is_shown_as_people_wrote_it() {
    let script = "/srv/shop/.next/server/app/page.js";
    // A line each; mappings `AAAA;ACAA;…` lead line by line to the start of the next source.
    let sources = [
        "webpack://next/./app/page.tsx",
        "webpack://next/../../../src/client/link.tsx",
        "webpack://next/?6cc1",
        "webpack://next/?7dd2",
        "../../../../../src/server/render.tsx",
        "webpack://next/./node_modules/lodash/lodash.js",
        "webpack://next/(rsc)/./lib/money.ts?1a2b",
    ];
    let mappings: Vec<&str> =
        (0..sources.len()).map(|row| if row == 0 { "AAAA" } else { "ACAA" }).collect();
    let map = format!(
        r#"{{"version":3,"sources":{sources:?},"names":[],"mappings":"{}"}}"#,
        mappings.join(";")
    );
    let text =
        format!("{}//# sourceMappingURL=page.js.map\n", "function f(){}\n".repeat(sources.len()));
    let files = MadeUp::default()
        .with(script, text)
        .with("/srv/shop/.next/server/app/page.js.map", map)
        .with("/srv/shop/.next/package.json", r#"{"type":"commonjs"}"#)
        .with("/srv/shop/package.json", r#"{"name":"shop"}"#)
        .with("/srv/shop/app/page.tsx", "export default function f() {}\n")
        .with("/srv/shop/lib/money.ts", "export function f() {}\n")
        .with("/srv/shop/src/client/link.tsx", "the shop's own, and another one");
    let rows: Vec<Row<'_>> =
        (0..sources.len() as u32).map(|row| ("f", script, (row + 1, 11), (0, 0))).collect();
    let profile = applied(&profile_of(&rows), &files);
    assert_eq!(
        spelt(&profile),
        [
            "f /srv/shop/app/page.tsx:1:1",
            "f webpack://next/../../../src/client/link.tsx:1:1  dependency",
            "f webpack://next/?6cc1:1:1  unknown",
            "f webpack://next/?7dd2:1:1  unknown",
            "f ../../../../../src/server/render.tsx:1:1  dependency",
            "f /srv/shop/node_modules/lodash/lodash.js:1:1 lodash dependency",
            "f /srv/shop/lib/money.ts:1:1",
        ]
    );
    assert_eq!(profile.functions().len(), sources.len());
}

#[test]
fn a_file_has_one_row_whatever_it_is_called() {
    let rows: &[Row<'_>] = &[
        ("a", "/srv/a b.js", (1, 1), (0, 0)),
        ("a", "file:///srv/a%20b.js", (1, 1), (0, 0)),
        ("b", "file:///srv/a%20b.js?again", (2, 1), (0, 0)),
    ];
    let profile = profile_of(rows);
    let paths: Vec<&str> = profile.sources().iter().map(|row| profile.text(row.path)).collect();
    assert_eq!((paths, profile.functions().len()), (vec!["/srv/a b.js"], 2));
}

/// A profile of V8, whose format is known.
fn of_v8(rows: &[Row<'_>]) -> Profile {
    let mut builder = Builder::new();
    builder.append(&profile_of(rows), profile::Joining::default());
    builder.meta().format = ".cpuprofile".into();
    builder.finish()
}

#[test]
fn lines_that_are_not_the_files_are_marked() {
    let text = "interface A {\n  b: string;\n}\nexport function f(a: A) {\n  return () => a;\n}\n";
    let files = MadeUp::default().with("/srv/a.ts", text).with("/srv/a.js", "f();\n");
    let cases: &[(&[Row<'_>], &[&str])] = &[
        // As Node strips types.
        (
            &[("f", "/srv/a.ts", (4, 18), (5, 3)), ("", "/srv/a.ts", (5, 10), (0, 0))],
            &["f /srv/a.ts:4:18 ran 5:3", "(anonymous) /srv/a.ts:5:10"],
        ),
        // As a transpiler minifies it.
        (&[("f", "/srv/a.ts", (1, 84), (1, 99))], &["f /srv/a.ts (generated):1:84 ran 1:99"]),
        (&[("f", "/srv/a.ts", (1, 9), (0, 0))], &["f /srv/a.ts (generated):1:9"]),
        (&[("f", "/srv/a.ts", (11, 0), (0, 0))], &["f /srv/a.ts (generated):11:0"]),
        // The file is on another machine.
        (&[("f", "/srv/b.tsx", (1, 84), (0, 0))], &["f /srv/b.tsx (generated):1:84"]),
        (&[("f", "/srv/b.js", (1, 84), (0, 0))], &["f /srv/b.js:1:84"]),
        // A file of one line.
        (&[("f", "/srv/a.js", (1, 1), (0, 0))], &["f /srv/a.js:1:1"]),
        (&[("f", "/srv/a.js", (9, 1), (0, 0))], &["f /srv/a.js (generated):9:1"]),
    ];
    for (rows, expected) in cases {
        let after = applied(&of_v8(rows), &files);
        assert_eq!(spelt(&after), *expected);
        // Once is enough, and elsewhere nothing changes.
        assert_eq!(applied(&after, &files), after);
        assert_eq!(applied(&after, &MadeUp::default()), after);
        // So it is when the file has changed since.
        let changed =
            MadeUp::default().with("/srv/a.ts", "// Gone.\n").with("/srv/a.js", "// Gone.\n");
        assert_eq!(applied(&after, &changed), after);
    }
    // Tools that know source maps themselves are believed.
    let before = profile_of(&[("f", "/srv/b.tsx", (1, 84), (0, 0))]);
    assert_eq!(spelt(&applied(&before, &files)), ["f /srv/b.tsx:1:84"]);
    // Symbols have it, too.
    let after = applied(&of_v8(&[("f", "/srv/a.ts", (1, 84), (0, 0))]), &files);
    let symbols: Vec<&str> = after.frames().symbol.iter().map(|id| after.text(*id)).collect();
    assert_eq!(symbols, ["JS:*f /srv/a.ts (generated):1:84"]);
}

#[test]
fn a_script_that_was_transpiled_has_its_map() {
    // `f` stands in the second line of the text that ran, and in the fourth of the file.
    let map = r#"{"version":3,"sources":["a.ts"],"names":[],"mappings":";AAGA"}"#;
    let script = |map_url: &str| RanScript {
        map_url: map_url.as_bytes().to_vec(),
        text: b"\"use strict\";\nfunction f(a) { return a; }\n//# sourceMappingURL=\n".to_vec(),
    };
    let rows: &[Row<'_>] = &[
        ("f", "file:///srv/a.ts", (2, 11), (2, 17)),
        ("__helper", "file:///srv/a.ts", (1, 1), (0, 0)),
        ("lost", "file:///srv/a.ts", (0, 0), (0, 0)),
        ("g", "/srv/b.js", (2, 11), (0, 0)),
    ];
    let applied = |scripts: &BTreeMap<String, RanScript>, uses_maps| {
        let (files, roots) = (
            MadeUp::default().with("/srv/cache/a.map", map.replace("a.ts", "../a.ts")),
            BTreeMap::new(),
        );
        let places = MapPlaces { files: &files, root: None, roots: &roots };
        let after =
            apply_ran(profile_of(rows), scripts, &places, &mut KnownScripts::default(), uses_maps);
        assert_eq!(after.check(), Ok(()));
        after
    };
    let one = |script: RanScript| BTreeMap::from([("/srv/a.ts".to_owned(), script)]);
    let inline = one(script(&format!("data:application/json,{map}")));
    let mapped = [
        "f /srv/a.ts:4:1 ran 4:1",
        "__helper /srv/a.ts (generated):1:1",
        "lost /srv/a.ts:0:0",
        "g /srv/b.js:2:11",
    ];
    let marked = ["f /srv/a.ts (generated):2:11 ran 2:17", mapped[1], mapped[2], mapped[3]];
    assert_eq!(spelt(&applied(&inline, true)), mapped);
    assert_eq!(spelt(&applied(&inline, false)), marked);
    // A transpiler may keep its maps in files.
    assert_eq!(spelt(&applied(&one(script("/srv/cache/a.map")), true)), mapped);
    for url in ["", "data:application/json,{", "https://example.com/a.map", "data:;base64,!!"] {
        let after = applied(&one(script(url)), true);
        assert_eq!(spelt(&after), marked, "{url}");
        let damage = &after.meta().losses.damage;
        assert_eq!(damage.len(), usize::from(url.ends_with('{')), "{damage:?}");
    }
    assert_eq!(spelt(&applied(&BTreeMap::new(), true)), spelt(&profile_of(rows)));
}

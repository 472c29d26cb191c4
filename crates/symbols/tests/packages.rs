//! Whose code: packages by the package.json files around scripts, on a real disk, with links, several versions, and
//! files that no person would write.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use naming::{add, name_call_frame};
use profile::{
    Builder, Category, FunctionId, LaneInfo, ModuleId, OwnNames, Profile, Sample, StackId, Tier,
    Unit,
};
use symbols::Disk;
use symbols::packages::{KnownPackages, apply};
use symbols::source_maps::MapPlaces;

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nodescope-packages-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(fs::canonicalize(folder).unwrap())
    }

    /// Writes a package.json.
    fn package(&self, folder: &str, text: &str) {
        fs::create_dir_all(self.0.join(folder)).unwrap();
        fs::write(self.0.join(folder).join("package.json"), text).unwrap();
    }

    fn path(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A function in each script, on one stack, in one process.
fn profile_of(scripts: &[&str]) -> Profile {
    let mut builder = Builder::new();
    let lane = builder.lane(LaneInfo { name: "cpu", unit: Unit::Ns, timed: true, counted: true });
    let thread = add::thread(&mut builder, Some(7), Some(7), "node");
    let mut stack = StackId::NONE;
    for script in scripts {
        let named = name_call_frame("work", script, 3, 1, Tier::Turbofan);
        let written = add::Written { symbol: "work", inlined: false };
        let frame = add::frame(&mut builder, &named, ModuleId::NONE, &written);
        stack = builder.stack(stack, frame);
    }
    builder.sample(lane, Sample { time_ns: 1, thread, stack, weight: 1 });
    builder.finish()
}

fn applied(profile: Profile, root: Option<&Path>, known: &mut KnownPackages) -> Profile {
    let roots: BTreeMap<u32, PathBuf> = root.map(|root| (7, root.to_owned())).into_iter().collect();
    let profile = apply(profile, &MapPlaces { files: &Disk, root: None, roots: &roots }, known);
    assert_eq!(profile.check(), Ok(()));
    profile
}

/// Of each function: `name version category`.
fn packages(profile: &Profile) -> Vec<String> {
    let frames = profile.frames();
    let row = |id: FunctionId| {
        let function = profile.functions().row(id);
        let frame = frames.ids().find(|frame| frames.function[frame.index()] == id).unwrap();
        let text = |id| profile.text(id);
        format!(
            "{} {} {}",
            text(function.package),
            text(function.version),
            frames.category[frame.index()].word()
        )
    };
    profile.functions().ids().map(row).collect()
}

/// `by → package`, with versions.
fn uses(profile: &Profile) -> Vec<String> {
    let words = |row: profile::PackageId| {
        let package = profile.packages()[row.index()];
        format!("{} {}", profile.text(package.name), profile.text(package.version))
    };
    let mut uses: Vec<String> = profile
        .package_uses()
        .iter()
        .map(|row| format!("{} → {}", words(row.by), words(row.package)))
        .collect();
    uses.sort();
    uses
}

/// A monorepo with a workspace, two versions of one package, and a private package.
fn mono() -> Folder {
    let folder = Folder::new();
    folder.package("mono", r#"{"name":"mono","version":"1.0.0","workspaces":["packages/*"]}"#);
    folder.package(
        "mono/apps/web",
        r#"{"name":"@acme/web","version":"2.0.0","dependencies":{"@acme/ui":"workspace:*","validator":"*"}}"#,
    );
    folder.package("mono/packages/ui", r#"{"name":"@acme/ui","version":"0.3.0"}"#);
    folder.package("mono/packages/ui/src", r#"{"type":"module"}"#);
    folder.package("mono/node_modules/lodash", r#"{"name":"lodash","version":"4.17.21"}"#);
    folder.package(
        "mono/node_modules/validator",
        r#"{"name":"validator","version":"7.0.1","dependencies":{"lodash":"^4"}}"#,
    );
    folder.package(
        "mono/node_modules/old",
        r#"{"name":"old","version":"1.0.0","dependencies":{"lodash":"^3"}}"#,
    );
    folder.package(
        "mono/node_modules/old/node_modules/lodash",
        r#"{"name":"lodash","version":"3.10.1"}"#,
    );
    folder.package("mono/node_modules/@private/core", r#"{"version":"5.0.0"}"#);
    fs::create_dir_all(folder.0.join("mono/node_modules/@acme")).unwrap();
    symlink("../../packages/ui", folder.0.join("mono/node_modules/@acme/ui")).unwrap();
    folder
}

const SCRIPTS: [&str; 7] = [
    "/mono/apps/web/server.js",
    "/mono/packages/ui/src/x.js",
    "/mono/node_modules/validator/index.js",
    "/mono/node_modules/lodash/lodash.js",
    "/mono/node_modules/old/index.js",
    "/mono/node_modules/old/node_modules/lodash/index.js",
    "/mono/node_modules/@private/core/lib/core.js",
];

const EXPECTED: [&str; 7] = [
    "@acme/web 2.0.0 app",
    "@acme/ui 0.3.0 app",
    "validator 7.0.1 dependency",
    "lodash 4.17.21 dependency",
    "old 1.0.0 dependency",
    "lodash 3.10.1 dependency",
    "@private/core 5.0.0 dependency",
];

const USES: [&str; 4] = [
    "@acme/web 2.0.0 → @acme/ui 0.3.0",
    "@acme/web 2.0.0 → validator 7.0.1",
    "old 1.0.0 → lodash 3.10.1",
    "validator 7.0.1 → lodash 4.17.21",
];

#[test]
fn a_monorepo_on_our_own_disk_and_in_another_root() {
    let folder = mono();
    let outside: Vec<String> = SCRIPTS.iter().map(|path| folder.path(&path[1..])).collect();
    let outside: Vec<&str> = outside.iter().map(String::as_str).collect();
    for (scripts, root) in [(&outside[..], None), (&SCRIPTS[..], Some(folder.0.as_path()))] {
        let profile = applied(profile_of(scripts), root, &mut KnownPackages::default());
        assert_eq!(packages(&profile), EXPECTED);
        assert_eq!(uses(&profile), USES);
        let own = profile.with_own(&OwnNames::new(&["@private/*".to_owned()]));
        assert_eq!(packages(&own)[6], "@private/core 5.0.0 app");
        assert_eq!(packages(&own)[..6], EXPECTED[..6]);
        // What the application's function claims follows it.
        let stack = own.lanes()[0].samples.stack[0];
        assert_eq!(own.stacks().category[stack.index()], Category::App);
        assert_eq!(own.check(), Ok(()));
    }
}

/// What one part of a recording has about a package is not repeated in the next one.
#[test]
fn a_recording_grows() {
    let folder = mono();
    let mut known = KnownPackages::default();
    let mut builder = Builder::new();
    let mut counts = Vec::new();
    for scripts in [&SCRIPTS[2..4], &SCRIPTS[..2], &SCRIPTS[3..]] {
        let piece = applied(profile_of(scripts), Some(&folder.0), &mut known);
        counts.push(uses(&piece).len());
        builder.append_frames(&piece);
    }
    let whole = builder.finish();
    assert_eq!(counts, [1, 2, 1]);
    assert_eq!(uses(&whole), USES);
    let copies =
        |name: &str| whole.packages().iter().filter(|row| whole.text(row.name) == name).count();
    assert_eq!((copies("lodash"), copies("@acme/ui"), copies("mono")), (2, 1, 0));
}

/// pnpm links every package into the folders of those that need it.
#[test]
fn links_lead_to_the_version_that_is_used() {
    let folder = Folder::new();
    let store = "app/node_modules/.pnpm";
    folder.package("app", r#"{"name":"app","dependencies":{"validator":"1"}}"#);
    for version in ["3.0.0", "4.0.0"] {
        let text = format!(r#"{{"name":"lodash","version":"{version}"}}"#);
        folder.package(&format!("{store}/lodash@{version}/node_modules/lodash"), &text);
    }
    let validator = format!("{store}/validator@1.0.0/node_modules");
    folder.package(
        &format!("{validator}/validator"),
        r#"{"name":"validator","version":"1.0.0","dependencies":{"lodash":"*"}}"#,
    );
    let link = |target: &str, path: &str| symlink(target, folder.0.join(path)).unwrap();
    link("../../lodash@3.0.0/node_modules/lodash", &format!("{validator}/lodash"));
    link(".pnpm/validator@1.0.0/node_modules/validator", "app/node_modules/validator");
    let scripts = [
        "/app/server.js",
        "/app/node_modules/.pnpm/validator@1.0.0/node_modules/validator/index.js",
        "/app/node_modules/.pnpm/lodash@3.0.0/node_modules/lodash/index.js",
        "/app/node_modules/.pnpm/lodash@4.0.0/node_modules/lodash/index.js",
    ];
    let profile = applied(profile_of(&scripts), Some(&folder.0), &mut KnownPackages::default());
    assert_eq!(uses(&profile), ["app  → validator 1.0.0", "validator 1.0.0 → lodash 3.0.0"]);
}

/// A workspace that was copied into node_modules, and what lies beside the project, are the user's own.
#[test]
fn what_a_project_lists_is_its_own() {
    let folder = Folder::new();
    folder.package(
        "app",
        r#"{"name":"app","workspaces":["packages/*"],"dependencies":{"beside":"file:../beside","packed":"file:./packed.tgz"}}"#,
    );
    folder.package("app/packages/ui", r#"{"name":"@acme/ui"}"#);
    let names = ["@acme/ui", "beside", "packed", "@acme/other"];
    for name in names {
        folder.package(&format!("app/node_modules/{name}"), r#"{"version":"1.0.0"}"#);
    }
    let scripts = names.map(|name| format!("/app/node_modules/{name}/index.js"));
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let profile = applied(profile_of(&scripts), Some(&folder.0), &mut KnownPackages::default());
    assert_eq!(
        packages(&profile),
        [
            "@acme/ui 1.0.0 app",
            "beside 1.0.0 app",
            "packed 1.0.0 dependency",
            "@acme/other 1.0.0 dependency"
        ]
    );
}

/// No file on this machine has versions, but the names of a package manager's folders do.
#[test]
fn versions_in_paths() {
    let scripts = [
        "/nowhere/node_modules/.pnpm/ms@2.1.3/node_modules/ms/index.js",
        "/nowhere/.yarn/cache/qs-npm-6.11.0-caf1bc9dea-8.zip/node_modules/qs/index.js",
        "/nowhere/node_modules/plain/index.js",
        "/nowhere/server.js",
    ];
    let profile = applied(profile_of(&scripts), None, &mut KnownPackages::default());
    assert_eq!(
        packages(&profile),
        ["ms 2.1.3 dependency", "qs 6.11.0 dependency", "plain  dependency", "  app"]
    );
}

#[test]
fn hostile_files() {
    let folder = Folder::new();
    let secret = Folder::new();
    secret.package("", r#"{"name":"secret","version":"6.6.6","dependencies":{"secret-too":"1"}}"#);
    let root = folder.0.join("root");
    let place = |name: &str| {
        let folder = root.join("srv/node_modules").join(name);
        fs::create_dir_all(&folder).unwrap();
        folder.join("package.json")
    };
    symlink("/etc/shadow", place("shadow")).unwrap();
    symlink(secret.path("package.json"), place("outside")).unwrap();
    symlink("/proc/self/environ", place("environ")).unwrap();
    symlink("package.json", place("loop")).unwrap();
    assert!(Command::new("mkfifo").arg(place("pipe")).status().unwrap().success());
    File::create(place("sparse")).unwrap().set_len(1 << 30).unwrap();
    fs::write(place("garbage"), b"\x00\xff{\"name\"").unwrap();
    fs::write(place("deep"), "[".repeat(500_000)).unwrap();
    fs::write(place("control"), r#"{"name":"\u001b[31m","version":"1\u0000\n2"}"#).unwrap();
    fs::create_dir_all(place("folder")).unwrap();
    // The same for a script outside of node_modules.
    fs::create_dir_all(root.join("app")).unwrap();
    symlink(secret.path("package.json"), root.join("app/package.json")).unwrap();
    let names = [
        "shadow", "outside", "environ", "loop", "pipe", "sparse", "garbage", "deep", "control",
        "folder",
    ];
    let mut scripts: Vec<String> =
        names.iter().map(|name| format!("/srv/node_modules/{name}/index.js")).collect();
    scripts.push("/app/server.js".into());
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let start = Instant::now();
    let profile = applied(profile_of(&scripts), Some(&root), &mut KnownPackages::default());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let mut expected: Vec<String> =
        names.iter().map(|name| format!("{name}  dependency")).collect();
    expected.push("  app".into());
    assert_eq!(packages(&profile), expected);
    assert!(
        profile.strings().iter().all(|text| !text.contains("secret") && !text.contains("6.6.6"))
    );
}

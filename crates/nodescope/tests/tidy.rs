//! The rules that no compiler checks: which crate may use which, where `unsafe` may be, that no function asks for its
//! system, and that the documents name only what exists. Each rule is a function from text to complaints, so that the
//! second half of this file can prove that it complains.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use profile::category::{Category, Tier};
use regex::Regex;

/// Every crate in crates/, and the crates of ours that it may use. A crate exists because it may do something that
/// others may not (I/O, unsafe, network), or to keep two parts apart; ARCHITECTURE.md shows this table to people.
const CRATES: &[(&str, &[&str])] = &[
    ("profile", &[]),
    ("trace", &[]),
    ("elf", &[]),
    ("v8", &[]),
    ("sys", &[]),
    ("http", &[]),
    ("target", &["sys", "elf", "v8", "http"]),
    ("capture", &["trace", "sys"]),
    ("inspector", &["http"]),
    ("naming", &["trace", "profile", "v8"]),
    ("symbols", &["trace", "profile", "elf", "v8", "naming", "sys"]),
    ("views", &["profile"]),
    ("formats", &["trace", "profile", "v8", "naming", "views"]),
    (
        "live",
        &[
            "trace",
            "profile",
            "elf",
            "v8",
            "sys",
            "target",
            "capture",
            "inspector",
            "symbols",
            "formats",
        ],
    ),
    ("web", &[]),
    (PROGRAM, &[]),
];

/// The command line: it may use every crate.
const PROGRAM: &str = "nodescope";

/// The only crate that may hold `unsafe`.
const UNSAFE_CRATE: &str = "sys";

/// What a path in a document may start with; other paths are not ours.
const TOP_FOLDERS: &[&str] =
    &[".ci", "bench", "corpus", "crates", "docs", "fuzz", "packaging", "page", "scripts", "tests"];

/// Files that documents mention by their bare names.
const TOP_FILES: &[&str] = &[
    "Makefile",
    "Cargo.toml",
    "Cargo.lock",
    "deny.toml",
    "clippy.toml",
    "rustfmt.toml",
    "LICENSE-",
];

/// Folders that are made, not written.
const MADE: &[&str] = &[".git", "target", "node_modules", "artifacts"];
const MADE_PATHS: &[&str] = &["fuzz/corpus", "dist"];

/// Endings of texts that must not know a home folder. Rust is none of them: tests have paths of every kind.
const WRITTEN: &[&str] = &[".md", ".toml", ".sh", ".js", ".mjs", ".ts", "Makefile", "run"];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn crates_use_only_what_the_table_allows() {
    let aliases = aliases(&read("Cargo.toml"));
    let complaints = crate_names().into_iter().flat_map(|name| {
        complain_of_dependencies(&name, &read(&format!("crates/{name}/Cargo.toml")), &aliases)
    });
    assert_none(complaints);
}

#[test]
fn architecture_shows_the_same_table() {
    assert_none(complain_of_table(&read("ARCHITECTURE.md")));
}

#[test]
fn unsafe_has_one_address() {
    let root = complain_of_root_lints(&read("Cargo.toml"));
    let lints = crate_names()
        .into_iter()
        .filter(|name| name != UNSAFE_CRATE)
        .filter_map(|name| complain_of_lints(&name, &read(&format!("crates/{name}/Cargo.toml"))));
    let code = rust_files()
        .into_iter()
        .filter(|path| !path.starts_with(&format!("crates/{UNSAFE_CRATE}/")));
    let code = code.filter_map(|path| complain_of_unsafe(&path, &read(&path)));
    assert_none(root.into_iter().chain(lints).chain(code));
}

#[test]
fn no_function_asks_for_its_system() {
    let code = rust_files()
        .into_iter()
        .filter(|path| path.starts_with("crates/") && path.contains("/src/"));
    assert_none(code.filter_map(|path| complain_of_system(&path, &read(&path))));
}

#[test]
fn every_file_of_tests_is_run() {
    let complaints = crate_names().into_iter().flat_map(|name| {
        let folder = format!("crates/{name}/tests/");
        let tests = files(|path| {
            path.strip_prefix(&folder)
                .is_some_and(|file| file.ends_with(".rs") && !file.contains('/'))
        });
        let all = if tests.is_empty() { String::new() } else { read(&format!("{folder}all.rs")) };
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        tests.iter().filter_map(|path| complain_of_test(path, &all, &manifest)).collect::<Vec<_>>()
    });
    assert_none(complaints);
}

#[test]
fn documents_name_only_what_exists() {
    let documents = files(|path| path.ends_with(".md") && !is_case(path));
    assert!(documents.len() >= 5, "{documents:?}");
    let exists = |path: &str| root().join(path).exists();
    assert_none(documents.iter().flat_map(|path| complain_of_paths(path, &read(path), exists)));
}

#[test]
fn every_corpus_case_is_whole_and_listed() {
    let all = files(|path| is_case(path) && !path.starts_with("corpus/programs/"));
    let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in &all {
        let (case, file) = path["corpus/".len()..].split_once('/').unwrap();
        cases.entry(case).or_default().push(file);
    }
    assert!(cases.len() >= 20);
    let parts = cases.iter().flat_map(|(case, files)| complain_of_case(case, files));
    let names: BTreeSet<&str> = cases.keys().copied().collect();
    assert_none(parts.chain(complain_of_case_table(&read("corpus/README.md"), &names)));
}

#[test]
fn files_hold_no_trace_of_one_machine() {
    let all = files(|path| !is_case(path));
    assert_none(all.iter().filter_map(|path| complain_of_traces(path, &read_lossy(path))));
}

#[test]
fn documents_know_every_category_and_tier() {
    let (categories, format) = (read("docs/categories.md"), read("docs/file-format.md"));
    for category in Category::ALL {
        let (word, label) = (category.word(), category.label());
        let row = format!("| `{word}` | {label} |");
        assert!(categories.contains(&row), "docs/categories.md lacks {word}, {label}");
        assert!(format.contains(&format!("| {} | `{word}` |", *category as u8)), "{word}");
    }
    for tier in Tier::ALL {
        assert!(format.contains(&format!("| {} | `{}` |", *tier as u8, tier.word())), "{tier:?}");
    }
}

/// The aliases of our crates in the workspace: `profile = { path = "crates/profile", … }`.
fn aliases(root_manifest: &str) -> BTreeMap<String, String> {
    let path = Regex::new(r#"path = "crates/(\w+)""#).unwrap();
    let rows = section_lines(root_manifest, |name| name == "workspace.dependencies");
    rows.filter_map(|line| Some((key(line).to_owned(), path.captures(line)?[1].to_owned())))
        .collect()
}

fn complain_of_dependencies(
    name: &str,
    manifest: &str,
    aliases: &BTreeMap<String, String>,
) -> Vec<String> {
    let Some((_, allowed)) = CRATES.iter().find(|(row, _)| *row == name) else {
        return vec![format!("crates/{name} is not in the table of crates")];
    };
    let counts =
        |section: &str| section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
    let direct = Regex::new(r#"path = "\.\./(\w+)""#).unwrap();
    let used = section_lines(manifest, counts).filter_map(|line| {
        let by_path = direct.captures(line).map(|found| found[1].to_owned());
        by_path.or_else(|| aliases.get(key(line)).cloned())
    });
    let forbidden = used.filter(|used| name != PROGRAM && !allowed.contains(&used.as_str()));
    forbidden.map(|used| format!("crates/{name} must not use {used}")).collect()
}

/// The lines of a manifest's sections whose name `wanted` accepts.
fn section_lines(manifest: &str, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().map(str::trim).filter(move |line| {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            inside = wanted(name.trim_matches(['[', ']']));
            return false;
        }
        inside && !line.is_empty() && !line.starts_with('#')
    })
}

/// `profile.workspace = true` → `profile`.
fn key(line: &str) -> &str {
    line.split(['=', '.', ' ']).next().unwrap_or_default()
}

fn complain_of_table(document: &str) -> Vec<String> {
    let row = |(name, allowed): &(&str, &[&str])| {
        let allowed = match *name {
            PROGRAM => "all".to_owned(),
            _ if allowed.is_empty() => "–".to_owned(),
            _ => allowed.join(", "),
        };
        let found = document.lines().any(|line| {
            line.starts_with(&format!("| {name} |"))
                && line.trim_end().ends_with(&format!("| {allowed} |"))
        });
        (!found).then(|| format!("ARCHITECTURE.md has no row “{name} … {allowed}”"))
    };
    CRATES.iter().filter_map(row).collect()
}

fn complain_of_root_lints(manifest: &str) -> Option<String> {
    let forbidden = section_lines(manifest, |name| name == "workspace.lints.rust")
        .any(|line| line == r#"unsafe_code = "forbid""#);
    (!forbidden).then(|| "the workspace does not forbid unsafe_code".into())
}

fn complain_of_lints(name: &str, manifest: &str) -> Option<String> {
    let inherits =
        section_lines(manifest, |name| name == "lints").any(|line| line == "workspace = true");
    (!inherits).then(|| format!("crates/{name} does not take over the workspace's lints"))
}

fn complain_of_unsafe(path: &str, text: &str) -> Option<String> {
    let pattern =
        Regex::new(r"\bunsafe\s*(\{|fn\b|impl\b|trait\b|extern\b)|allow\(\s*unsafe_code").unwrap();
    let is_code = |line: &&str| !line.trim_start().starts_with("//") && pattern.is_match(line);
    // This file has to spell what it looks for.
    let found = text.lines().find(is_code).filter(|_| !path.ends_with("tests/tidy.rs"))?;
    Some(format!("{path}: unsafe belongs into crates/{UNSAFE_CRATE}: {}", found.trim()))
}

/// Where code is for one system or machine, its declaration shows it: an attribute inside of a body is indented twice,
/// and `cfg!` is an expression. What only tests ask does not matter.
fn complain_of_system(path: &str, text: &str) -> Option<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let pattern = r#"^ {8,}#\[cfg\(|cfg!\((not\()?(unix|windows|target_os|target_arch)"#;
    let pattern = Regex::new(pattern).unwrap();
    let found = code.lines().find(|line| pattern.is_match(line))?;
    Some(format!("{path}: put what depends on the system into a file of its own: {}", found.trim()))
}

/// A file of tests is a module of all.rs, or a program of its own that the manifest names: else no test of it runs.
fn complain_of_test(path: &str, all: &str, manifest: &str) -> Option<String> {
    let name = path.rsplit('/').next()?.strip_suffix(".rs")?;
    let is_module = all.lines().any(|line| line == format!("mod {name};"));
    let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
    (!is_module && !is_program).then(|| format!("{path} is not run: all.rs has no `mod {name};`"))
}

/// Paths that start like ours must lead somewhere, and so must links, seen from the document or from the root.
fn complain_of_paths(document: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside =
        |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let link = Regex::new(r"\]\(([^)\s#]+)[^)]*\)").unwrap();
    let prose = text.split("```").step_by(2); // no code
    let links =
        prose.flat_map(|part| link.captures_iter(part)).map(|found| found.get(1).unwrap().as_str());
    let links = links.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
    let words =
        text.split(|letter: char| letter.is_whitespace() || "`\"'()[]<>|,;=".contains(letter));
    let words = words.filter_map(mentioned_path);
    let missing = links.chain(words).filter(|path| !exists(path) && !exists(&beside(path)));
    missing.map(|path| format!("{document} names {path}, which does not exist")).collect()
}

/// The path that a word of a document means, up to its first placeholder; `None` when it is no path of ours.
fn mentioned_path(word: &str) -> Option<&str> {
    let word = word.trim_start_matches("./").trim_end_matches(['.', ':', '!', '?']);
    let line_number = |(_, digits): &(&str, &str)| digits.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.rsplit_once(':').filter(line_number).map_or(word, |(path, _)| path);
    let Some((first, _)) = word.split_once('/') else {
        let is_document =
            word.ends_with(".md") && word.starts_with(|letter: char| letter.is_uppercase());
        let is_ours = is_document || TOP_FILES.iter().any(|file| word.starts_with(file));
        return (is_ours && word != "LICENSE-").then_some(word);
    };
    if !TOP_FOLDERS.contains(&first) {
        return None;
    }
    let mut end = 0;
    for part in word.split('/') {
        if is_placeholder(part) {
            break;
        }
        end += part.len() + 1;
    }
    Some(word[..end.min(word.len())].trim_end_matches('/')).filter(|path| !path.is_empty())
}

/// `*`, `…`, `$CASE`, `NAME`: what the reader has to fill in.
fn is_placeholder(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default();
    let is_loud =
        stem.len() > 1 && stem.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    part.contains(['*', '…', '{', '$']) || is_loud && stem != "README"
}

fn complain_of_case(case: &str, files: &[&str]) -> Vec<String> {
    let inputs = files.iter().filter(|file| file.starts_with("input.")).count();
    let mut complaints = Vec::new();
    if !files.contains(&"README.md") {
        complaints.push(format!("corpus/{case} has no README.md"));
    }
    if inputs != 1 {
        complaints.push(format!("corpus/{case} has {inputs} inputs"));
    }
    complaints
}

fn complain_of_case_table(readme: &str, cases: &BTreeSet<&str>) -> Vec<String> {
    let (_, table) = readme.split_once("\n## Cases\n").unwrap_or_default();
    let rows = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |").map(|(name, _)| name));
    let listed: Vec<&str> = rows.filter(|name| *name != "case" && !name.starts_with('-')).collect();
    let unknown = listed.iter().filter(|name| !cases.contains(*name));
    let unknown =
        unknown.map(|name| format!("corpus/README.md lists {name}, which does not exist"));
    let times = |case: &str| listed.iter().filter(|name| **name == case).count();
    let missing = cases.iter().filter(|case| times(case) != 1);
    let missing =
        missing.map(|case| format!("corpus/README.md lists {case} {} times", times(case)));
    unknown.chain(missing).collect()
}

/// Lock files must not remember where one machine got its packages from, and texts no home folder.
fn complain_of_traces(path: &str, text: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_foreign = |line: &&str| match name {
        "Cargo.lock" => {
            line.starts_with("source = ") && *line != format!("source = \"{CRATES_IO}\"")
        }
        "package-lock.json" => line.contains("\"resolved\""),
        ".npmrc" => line.contains("registry=") || line.contains("//"),
        "config.toml" => line.contains("registry") || line.starts_with("[source"),
        _ if WRITTEN.iter().any(|ending| name.ends_with(ending)) => {
            ["/home/", "/root/", "/Users/"].iter().any(|home| line.contains(home))
        }
        _ => false,
    };
    let line = text.lines().map(str::trim).find(is_foreign)?;
    Some(format!("{path} is tied to one machine: {line}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn read_lossy(path: &str) -> String {
    String::from_utf8_lossy(&fs::read(root().join(path)).unwrap()).into_owned()
}

fn crate_names() -> Vec<String> {
    let folders = root().join("crates").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = folders.map(|name| name.to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn rust_files() -> Vec<String> {
    files(|path| path.ends_with(".rs"))
}

/// A file of a corpus case or of a recorded program: what was recorded stays as it is.
fn is_case(path: &str) -> bool {
    path.strip_prefix("corpus/").is_some_and(|rest| rest.contains('/'))
}

/// The written files below the root whose path is wanted, sorted.
fn files(wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let (root, mut found, mut folders) = (root(), Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in root.join(&folder).read_dir().unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let is_folder = entry.file_type().unwrap().is_dir();
            let is_made = MADE.contains(&name.as_str()) || MADE_PATHS.contains(&path.as_str());
            if is_folder && !is_made {
                folders.push(path);
            } else if !is_folder && wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn assert_none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n  {}\n", complaints.join("\n  "));
}

mod every_rule_can_fail {
    use super::*;

    #[test]
    fn dependencies() {
        let aliases = aliases(
            "[workspace.dependencies]\nviews = { path = \"crates/views\" }\nclap = \"4\"\n",
        );
        let complaints = |name, manifest| complain_of_dependencies(name, manifest, &aliases).len();
        assert_eq!(complaints("profile", "[dependencies]\nviews.workspace = true\n"), 1);
        assert_eq!(complaints("profile", "[dependencies]\nviews = { path = \"../views\" }\n"), 1);
        assert_eq!(
            complaints("profile", "[target.'cfg(unix)'.dependencies]\nviews.workspace = true\n"),
            1
        );
        assert_eq!(complaints("profile", "[build-dependencies]\nviews.workspace = true\n"), 1);
        assert_eq!(complaints("profile", "[dev-dependencies]\nviews.workspace = true\n"), 0);
        assert_eq!(complaints("profile", "[dependencies]\nclap.workspace = true\n"), 0);
        assert_eq!(complaints("formats", "[dependencies]\nviews.workspace = true\n"), 0);
        assert_eq!(complaints("nodescope", "[dependencies]\nviews.workspace = true\n"), 0);
        assert_eq!(complaints("unknown", ""), 1);
        assert_eq!(complain_of_table("| profile | its job | views |").len(), CRATES.len());
    }

    #[test]
    fn lints_and_unsafe() {
        assert!(
            complain_of_root_lints("[workspace.lints.rust]\nunsafe_code = \"warn\"\n").is_some()
        );
        assert!(complain_of_lints("views", "[lints]\n").is_some());
        assert!(complain_of_lints("views", "[lints]\nworkspace = true\n").is_none());
        for code in ["    unsafe { read() }", "pub unsafe fn f() {}", "#![allow(unsafe_code)]"] {
            assert!(complain_of_unsafe("crates/views/src/tree.rs", code).is_some(), "{code}");
        }
        for code in ["// unsafe { is a comment }", "let unsafe_word = \"unsafe\";"] {
            assert!(complain_of_unsafe("crates/views/src/tree.rs", code).is_none(), "{code}");
        }
    }

    #[test]
    fn systems() {
        let complains = |text: &str| complain_of_system("crates/views/src/tree.rs", text).is_some();
        assert!(complains("fn f() {\n        #[cfg(unix)]\n        g();\n}\n"));
        assert!(complains("const A: bool = cfg!(target_os = \"macos\");\n"));
        assert!(!complains("#[cfg(unix)]\nmod unix;\n"));
        assert!(!complains("const A: bool = cfg!(debug_assertions);\n"));
        assert!(!complains("#[cfg(test)]\nmod tests { const A: bool = cfg!(unix); }\n"));
    }

    #[test]
    fn paths() {
        let exists =
            |path: &str| ["docs", "docs/a.md", "corpus", "README.md", "crates"].contains(&path);
        let complaints = |text: &str| complain_of_paths("docs/page.md", text, exists).len();
        for text in [
            "`docs/b.md`",
            "[b](b.md)",
            "see docs/b.md.",
            "`crates/gone/src/*.rs`",
            "cargo run -- report corpus/gone/input.txt",
            "GONE.md",
            "`deny.toml`",
        ] {
            assert_eq!(complaints(text), 1, "{text}");
        }
        for text in [
            "`docs/a.md`, docs/a.md:12.",
            "[a](a.md#part)",
            "[a](https://example.com/docs/b.md)",
            "`/srv/docs/b.md`",
            "`corpus/NAME/input.txt`",
            "`corpus/…/input.txt`",
            "`crates/*/src`",
            "text/plain, input.txt, and/or, flame.svg",
        ] {
            assert_eq!(complaints(text), 0, "{text}");
        }
    }

    #[test]
    fn cases() {
        assert_eq!(complain_of_case("a", &["README.md", "input.txt.gz"]).len(), 0);
        assert_eq!(complain_of_case("a", &["README.md", "input.cpuprofile"]).len(), 0);
        assert_eq!(complain_of_case("a", &["input.txt", "input.txt.gz"]).len(), 2);
        let table =
            "# Corpus\n\n## Cases\n\n| case | what |\n| --- | --- |\n| a | one |\n| c | gone |\n";
        assert_eq!(complain_of_case_table(table, &BTreeSet::from(["a", "b"])).len(), 2);
        assert_eq!(complain_of_case_table(table, &BTreeSet::from(["a", "c"])).len(), 0);
    }

    #[test]
    fn tests_that_do_not_run() {
        let (all, manifest) = ("mod cli;\n// mod gone;\n", "[[test]]\nname = \"all\"\n");
        let complains = |path: &str| complain_of_test(path, all, manifest).is_some();
        assert!(!complains("crates/a/tests/cli.rs") && !complains("crates/a/tests/all.rs"));
        assert!(complains("crates/a/tests/gone.rs") && complains("crates/a/tests/new.rs"));
    }

    #[test]
    fn traces() {
        let complains = |path: &str, text: &str| complain_of_traces(path, text).is_some();
        assert!(!complains("Cargo.lock", &format!("source = \"{CRATES_IO}\"\n")));
        assert!(complains("Cargo.lock", "source = \"registry+https://mirror.example/index\"\n"));
        assert!(complains(
            "tests/x/package-lock.json",
            "  \"resolved\": \"https://mirror.example/a.tgz\",\n"
        ));
        assert!(complains(".npmrc", "registry=https://mirror.example/\n"));
        assert!(complains("docs/a.md", "cd /home/ann/nodescope\n"));
        assert!(!complains("docs/a.md", "cd nodescope\n"));
    }
}

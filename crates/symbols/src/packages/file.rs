//! The content of a package.json. The file is a recorded process's own and may be anything: it has to be a regular file
//! of at most 1 MiB, and only names and versions that npm would take are believed.

use std::path::Path;

use profile::classify::after_scope;
use serde_json::Value;

use crate::files::Files;
use crate::source_maps::{join, open};

/// No package.json that people write is larger.
const MOST_BYTES: u64 = 1 << 20;
/// npm takes names of up to 214 characters.
const LONGEST_NAME: usize = 214;
const LONGEST_VERSION: usize = 64;
/// What is read of lists: no package that people write depends on more.
const MOST_DEPENDENCIES: usize = 2000;
const MOST_WORKSPACES: usize = 64;

/// Where a package lists what it needs when it runs. A project may also run what it needs for its own development.
const DEPENDENCIES: [&str; 4] =
    ["dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];

/// How a dependency begins that lies beside the project, and was not published.
const LOCAL: [&str; 4] = ["workspace:", "link:", "portal:", "file:"];
/// How a published package ends that was copied into the project.
const PACKED: [&str; 2] = [".tgz", ".tar.gz"];

/// The content of a package.json.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackageFile {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    /// The names of the packages that it depends on, sorted.
    pub(super) dependencies: Vec<String>,
    /// Those of them that lie beside it, sorted.
    pub(super) local: Vec<String>,
    /// The folders of its workspaces, as patterns.
    pub(super) workspaces: Vec<String>,
}

/// The package.json of a folder: empty where nothing in it can be believed, `None` where there is none.
pub(crate) fn read(files: &dyn Files, root: Option<&Path>, folder: &str) -> Option<PackageFile> {
    let mut file = parse(&text_of(files, root, &join(folder, "package.json"))?);
    if file.name.is_some() && file.workspaces.is_empty() {
        let pnpm = text_of(files, root, &join(folder, "pnpm-workspace.yaml"));
        file.workspaces = pnpm.map(|text| folders_in_yaml(&text)).unwrap_or_default();
    }
    Some(file)
}

/// `None` where there is no such file, nothing where it is too large.
fn text_of(files: &dyn Files, root: Option<&Path>, path: &str) -> Option<Vec<u8>> {
    let mut file = open(files, root, path)?;
    if file.length > MOST_BYTES {
        return Some(Vec::new());
    }
    Some(file.read_from(0).unwrap_or_default())
}

fn parse(text: &[u8]) -> PackageFile {
    let Ok(json) = serde_json::from_slice::<Value>(text) else { return PackageFile::default() };
    let word = |key: &str| json.get(key).and_then(Value::as_str);
    let lists = DEPENDENCIES.iter().filter_map(|key| json.get(key)?.as_object());
    let all: Vec<(&String, &Value)> = lists.flatten().take(MOST_DEPENDENCIES).collect();
    let is_local = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        let is_beside = LOCAL.iter().any(|start| text.starts_with(start));
        is_beside && !PACKED.iter().any(|end| text.ends_with(end))
    };
    let names = |wanted: &dyn Fn(&Value) -> bool| {
        let wanted = all.iter().filter(|(name, value)| is_name(name) && wanted(value));
        let mut names: Vec<String> = wanted.map(|(name, _)| (*name).clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    PackageFile {
        name: word("name").filter(|name| is_name(name)).map(str::to_owned),
        version: word("version").filter(|version| is_version(version)).map(str::to_owned),
        dependencies: names(&|_| true),
        local: names(&is_local),
        workspaces: workspaces(&json),
    }
}

/// `"workspaces": ["packages/*"]`, or yarn's `{"packages": ["packages/*"]}`.
fn workspaces(json: &Value) -> Vec<String> {
    let entry = json.get("workspaces");
    let list = entry.map(|entry| entry.get("packages").unwrap_or(entry)).and_then(Value::as_array);
    let folders = list.into_iter().flatten().filter_map(Value::as_str);
    folders.take(MOST_WORKSPACES).map(str::to_owned).collect()
}

/// The list under `packages:`, which is all that pnpm's file has in most projects.
fn folders_in_yaml(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().skip_while(|line| line.trim_end() != "packages:").skip(1);
    let item = |line: &str| line.trim().strip_prefix("- ").map(str::trim).map(str::to_owned);
    let items = lines.filter(|line| !line.trim().is_empty()).map_while(item);
    let plain = |item: String| item.trim_matches(['"', '\'']).to_owned();
    items.take(MOST_WORKSPACES).map(plain).collect()
}

impl PackageFile {
    /// The folders in which one of its workspaces with that name would lie: `packages/*` has `@acme/ui` in
    /// `packages/ui`.
    pub(super) fn folders_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let last = after_scope(name);
        let patterns = self.workspaces.iter().filter(|pattern| !pattern.starts_with('!'));
        patterns.map(move |pattern| pattern.replace("**", "*").replace('*', last))
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| !letter.is_control() && !letter.is_whitespace();
    !name.is_empty() && name.chars().count() <= LONGEST_NAME && name.chars().all(is_plain)
}

fn is_version(version: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    !version.is_empty() && version.len() <= LONGEST_VERSION && version.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_npm_would_not_take_is_not_believed() {
        let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(LONGEST_NAME + 1));
        let rows: &[(&str, Option<&str>, Option<&str>)] = &[
            (
                r#"{"name":"@acme/ui","version":"1.0.0-rc.1+5"}"#,
                Some("@acme/ui"),
                Some("1.0.0-rc.1+5"),
            ),
            (r#"{"name":"ui","version":7,"dependencies":3}"#, Some("ui"), None),
            (r#"{"name":"\u001b[31mred","version":"1\u0007"}"#, None, None),
            (r#"{"name":"two words","version":"one two"}"#, None, None),
            (r#"{"name":"","version":""}"#, None, None),
            (r#"["name"]"#, None, None),
            ("root:x:0:0:root", None, None),
            ("", None, None),
            (&long, None, None),
        ];
        for (text, name, version) in rows {
            let file = parse(text.as_bytes());
            assert_eq!(
                (file.name.as_deref(), file.version.as_deref()),
                (*name, *version),
                "{text}"
            );
        }
    }

    #[test]
    fn dependencies_and_workspaces() {
        let file = parse(
            br#"{"name":"shop","dependencies":{"ms":"^2.0.0","@acme/ui":"workspace:*","x":"file:./x.tgz"},
                "devDependencies":{"@acme/tools":"file:../tools","ms":"*"},"workspaces":{"packages":["packages/*",3]}}"#,
        );
        assert_eq!(file.dependencies, ["@acme/tools", "@acme/ui", "ms", "x"]);
        assert_eq!(file.local, ["@acme/tools", "@acme/ui"]);
        assert_eq!(file.folders_of("@acme/ui").collect::<Vec<_>>(), ["packages/ui"]);
        let yaml = b"# ours\npackages:\n  - 'packages/*'\n  - \"apps/web\"\n\ncatalog:\n  - no\n";
        assert_eq!(folders_in_yaml(yaml), ["packages/*", "apps/web"]);
        assert_eq!(folders_in_yaml(b"catalog:\n  react: 18\n"), Vec::<String>::new());
    }
}

//! Paths of sources, on disks that tests make up.

use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::path::PathBuf;

use super::*;
use crate::files::OpenFile;

struct Made(BTreeMap<PathBuf, &'static str>);

impl Files for Made {
    fn open(&self, _: Option<&Path>, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let text = self.0.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(text.as_bytes())))
    }
}

fn disk(files: &[(&str, &'static str)]) -> Made {
    Made(files.iter().map(|(path, text)| (PathBuf::from(path), *text)).collect())
}

const NAMED: &str = r#"{"name":"shop"}"#;
const NAMELESS: &str = r#"{"type":"commonjs"}"#;

fn assert_paths(files: &Made, script: &str, rows: &[(&str, &str)]) {
    let project = Project::new(files, None, script);
    for (source, expected) in rows {
        assert_eq!(project.path_of(source, folder_of(script)), *expected, "{source}");
    }
}

#[test]
fn paths_are_seen_from_the_project() {
    let files = disk(&[("/project/package.json", NAMED)]);
    let rows = [
        ("../src/a.ts", "/project/src/a.ts"),
        ("a.ts", "/project/dist/a.ts"),
        ("/build/src/a.ts", "/build/src/a.ts"),
        ("file:///build/src/a%20b.ts", "/build/src/a b.ts"),
        ("webpack://shop/./src/a.ts", "/project/src/a.ts"),
        ("webpack:///./src/a.ts", "/project/src/a.ts"),
        ("turbopack:///[project]/src/a.ts", "/project/src/a.ts"),
        ("turbopack:///[turbopack]/runtime.ts", "turbopack:///[turbopack]/runtime.ts"),
        ("webpack://shop/webpack/bootstrap", "webpack://shop/webpack/bootstrap"),
        ("https://example.com/a.ts", "https://example.com/a.ts"),
        ("node:internal", "node:internal"),
        ("webpack://", "webpack:///"),
    ];
    assert_paths(&files, "/project/dist/a.js", &rows);
    let without = disk(&[]);
    let rows = [
        ("webpack://shop/./src/a.ts", "webpack://shop/src/a.ts"),
        ("../../../etc/passwd", "/etc/passwd"),
    ];
    assert_paths(&without, "/srv/a.js", &rows);
}

#[test]
fn next_js_is_seen_from_the_folder_that_has_the_file() {
    let files = disk(&[
        ("/srv/shop/package.json", NAMED),
        ("/srv/shop/.next/package.json", NAMELESS),
        ("/srv/shop/app/page.tsx", "x"),
        // What was made of it has its name.
        ("/srv/shop/app/layout.js", "x"),
        ("/srv/shop/.next/server/app/layout.js", "x"),
        ("/srv/shop/app/view.vue", "x"),
        ("/srv/shared/money.ts", "x"),
    ]);
    let rows = [
        ("webpack://next/./app/page.tsx", "/srv/shop/app/page.tsx"),
        ("webpack://next/(rsc)/./app/page.tsx?1a2b", "/srv/shop/app/page.tsx"),
        ("webpack://next/./app/layout.js", "/srv/shop/app/layout.js"),
        ("webpack://next/./app/gone.tsx", "/srv/shop/app/gone.tsx"),
        ("webpack://next/./app/gone.tsx?1a2b", "/srv/shop/app/gone.tsx?1a2b"),
        ("webpack://next/./app/view.vue?1a2b", "/srv/shop/app/view.vue?1a2b"),
        ("webpack://next/?6cc1", "webpack://next/?6cc1"),
        ("webpack://next/?7dd2", "webpack://next/?7dd2"),
        ("webpack://next/external commonjs \"fs\"", "webpack://next/external commonjs \"fs\""),
        ("webpack://next/../shared/money.ts", "/srv/shared/money.ts"),
        (
            "webpack://next/../../../src/client/link.tsx",
            "webpack://next/../../../src/client/link.tsx",
        ),
        ("../../../../../src/client/link.tsx", "../../../../../src/client/link.tsx"),
        ("../../../app/page.tsx", "/srv/shop/app/page.tsx"),
    ];
    assert_paths(&files, "/srv/shop/.next/server/app/page.js", &rows);
}

#[test]
fn a_package_is_a_project_of_its_own() {
    let files = disk(&[
        ("/srv/shop/package.json", NAMED),
        ("/srv/shop/node_modules/next/package.json", NAMED),
        ("/srv/shop/src/link.tsx", "the shop's own"),
    ]);
    let rows = [
        ("../../src/link.tsx", "/srv/shop/node_modules/next/src/link.tsx"),
        ("../../../src/link.tsx", "../../../src/link.tsx"),
        ("webpack://next/./src/link.tsx", "/srv/shop/node_modules/next/src/link.tsx"),
    ];
    assert_paths(&files, "/srv/shop/node_modules/next/dist/client/link.js", &rows);
}

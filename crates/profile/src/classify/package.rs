//! The npm package that a path or URL lies in, as npm, pnpm, yarn (zip, `__virtual__`, unplugged) and bun lay
//! them out. The answer is borrowed from the path, so a scope on Windows keeps its backslash.

const FOLDER: &str = "node_modules";

/// Where Debian puts packages, beside each other and without the folder's usual name.
const DEBIAN_FOLDERS: &[&str] = &["/usr/share/nodejs/", "/usr/lib/nodejs/"];

/// Yarn's loader, which yarn writes into the application's folder.
const YARN_LOADERS: &[&str] = &[".pnp.cjs", ".pnp.js", ".pnp.loader.mjs"];

/// Programs that only start others, where they lie in no folder of packages: a part of the path, and whose it is.
const LAUNCHERS: &[(&str, &str)] = &[
    ("/.yarn/releases/yarn-", "yarn"),
    ("/.yarn/plugins/", "yarn"),
    ("/opt/yarn-v", "yarn"), // the Docker images of Node
    ("/usr/share/yarn/", "yarn"),
    ("/usr/share/yarnpkg/", "yarn"),
    ("/node/corepack/v1/yarn/", "yarn"),
    ("/node/corepack/v1/pnpm/", "pnpm"),
    ("/node/corepack/v1/npm/", "npm"),
    ("/node/corepack/yarn/", "yarn"),
    ("/node/corepack/pnpm/", "pnpm"),
    ("/node/corepack/npm/", "npm"),
    ("/usr/share/passenger/", "passenger"),
];

/// The package of a script or native module, scope included: the last `node_modules` wins.
pub fn package_of(path: &str) -> Option<&str> {
    let Some(inside) = after_last_folder(path) else {
        let loader = YARN_LOADERS.iter().find(|file| path.ends_with(*file)).copied();
        return loader.or_else(|| launcher_of(path));
    };
    let (first, rest) = split_segment(inside);
    match first.as_bytes().first()? {
        b'@' => scoped(inside, first, rest),
        b'.' => stored(first, rest),
        _ if rest.is_empty() => Some(without_ending(first)),
        _ => Some(first),
    }
}

/// The folder of the package that a path lies in: that of its package.json. `None` for a package of one file.
pub fn package_folder(path: &str) -> Option<&str> {
    let inside = after_last_folder(path)?;
    let start = path.len() - inside.len();
    let (first, rest) = split_segment(inside);
    let length = match first.as_bytes().first()? {
        b'@' => scoped(inside, first, rest)?.len(),
        b'.' if first == ".store" => {
            let (folder, rest) = split_segment(rest);
            let (package, _) = split_segment(rest);
            first.len() + folder.len() + package.len() + 2
        }
        _ if rest.is_empty() => return None,
        _ => first.len(),
    };
    path.get(..start + length)
}

/// The version that a package manager writes into its folders: pnpm's and bun's `ms@2.1.3`, yarn's `ms-npm-2.1.3-81ff`.
pub fn version_in_path(path: &str) -> Option<&str> {
    let folder = package_folder(path)?;
    let mut segments = folder.rsplit(['/', '\\']);
    let version = segments.find_map(|segment| after_at(segment).or_else(|| after_npm(segment)))?;
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    is_version.then_some(version)
}

/// `@babel+core@7.0.0_supports-color@5.5.0` and `@babel+core@7.0.0(supports-color@5.5.0)`: what comes behind the
/// version are other packages.
fn after_at(segment: &str) -> Option<&str> {
    let (at, _) = segment.char_indices().skip(1).find(|(_, letter)| *letter == '@')?;
    segment[at + 1..].split(['_', '(']).next()
}

/// `ms-npm-2.1.3-81ff3cfac1`: what comes behind the version is a checksum. A zip has one more, or the version of yarn's
/// cache: `ms-npm-2.1.3-81ff3cfac1-8.zip`.
fn after_npm(segment: &str) -> Option<&str> {
    let (_, rest) = segment.split_once("-npm-")?;
    let rest = match rest.strip_suffix(".zip") {
        Some(rest) => rest.rsplit_once('-')?.0,
        None => rest,
    };
    rest.rsplit_once('-').map(|(version, _)| version)
}

/// The name of a package without its scope.
pub fn after_scope(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// The folder of the project that a package was installed for: the one that holds the first `node_modules`.
pub fn project_folder(path: &str) -> Option<&str> {
    let bytes = path.as_bytes();
    let is_whole = |start: usize| {
        let ends = bytes.get(start + FOLDER.len()).is_none_or(|byte| is_separator(*byte));
        start > 0 && is_separator(bytes[start - 1]) && ends
    };
    let start =
        path.match_indices(FOLDER).map(|(start, _)| start).find(|start| is_whole(*start))?;
    path.get(..start - 1)
}

fn launcher_of(path: &str) -> Option<&'static str> {
    LAUNCHERS.iter().find(|(part, _)| path.contains(part)).map(|(_, name)| *name)
}

/// What follows the last `node_modules/` that is a whole segment, or Debian's folder.
fn after_last_folder(path: &str) -> Option<&str> {
    after_last_modules(path)
        .or_else(|| DEBIAN_FOLDERS.iter().find_map(|folder| path.strip_prefix(folder)))
}

fn after_last_modules(path: &str) -> Option<&str> {
    let bytes = path.as_bytes();
    let mut end = path.len();
    while let Some(start) = path[..end].rfind(FOLDER) {
        let begins = start == 0 || is_separator(bytes[start - 1]);
        let after = start + FOLDER.len();
        if begins && bytes.get(after).is_some_and(|byte| is_separator(*byte)) {
            return Some(&path[after + 1..]);
        }
        end = start;
    }
    None
}

fn is_separator(byte: u8) -> bool {
    byte == b'/' || byte == b'\\'
}

fn split_segment(path: &str) -> (&str, &str) {
    path.split_once(['/', '\\']).unwrap_or((path, ""))
}

fn scoped<'a>(inside: &'a str, scope: &str, rest: &str) -> Option<&'a str> {
    let (name, _) = split_segment(rest);
    (!name.is_empty()).then(|| &inside[..scope.len() + 1 + name.len()])
}

/// A package manager's own folder. pnpm's and bun's lead to a second `node_modules`; in yarn's `.store` the
/// folder's name is all there is: `lodash-npm-4.17.21-6382d821f2`.
fn stored<'a>(first: &'a str, rest: &'a str) -> Option<&'a str> {
    if first != ".store" {
        return Some(first);
    }
    let (folder, _) = split_segment(rest);
    folder.split_once("-npm-").map(|(name, _)| name)
}

/// `node_modules/foo.js` is a package of one file.
fn without_ending(file: &str) -> &str {
    [".js", ".cjs", ".mjs", ".node"]
        .iter()
        .find_map(|ending| file.strip_suffix(ending))
        .unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages() {
        let rows: &[(&str, Option<&str>)] = &[
            ("/srv/app/server.js", None),
            ("", None),
            ("node_modules", None),
            ("/srv/node_modules/", None),
            ("/srv/node_modules/@acme", None),
            ("/srv/node_modules/@acme/", None),
            ("/srv/my_node_modules/lodash/x.js", None),
            ("/srv/node_modules2/lodash/x.js", None),
            ("/srv/node_modules/lodash/lodash.js", Some("lodash")),
            ("node_modules/lodash/lodash.js", Some("lodash")),
            ("/srv/node_modules/@babel/parser/lib/index.js", Some("@babel/parser")),
            ("/srv/node_modules/send/node_modules/ms/index.js", Some("ms")),
            ("/srv/node_modules/send/my_node_modules/ms/index.js", Some("send")),
            ("/srv/node_modules/ipaddr.js/lib/ipaddr.js", Some("ipaddr.js")),
            ("/srv/node_modules/single.js", Some("single")),
            ("/srv/node_modules/left pad/index.js", Some("left pad")),
            ("/srv/node_modules/.pnpm/ms@2.1.3/node_modules/ms/index.js", Some("ms")),
            (
                "/srv/node_modules/.pnpm/@babel+core@7.0.0/node_modules/@babel/core/x.js",
                Some("@babel/core"),
            ),
            ("/srv/node_modules/.bun/ms@2.1.3/node_modules/ms/index.js", Some("ms")),
            ("/srv/node_modules/.store/ms-npm-2.1.3-81ff3cfac1/package/index.js", Some("ms")),
            ("/srv/node_modules/.prisma/client/index.js", Some(".prisma")),
            ("/srv/.yarn/cache/ms-npm-2.1.3-81ff3cfac1-8.zip/node_modules/ms/index.js", Some("ms")),
            (
                "/srv/.yarn/__virtual__/react-dom-virtual-0a1/0/cache/react-dom-npm-18.2.0-dd67.zip/node_modules/react-dom/x.js",
                Some("react-dom"),
            ),
            ("/srv/.yarn/unplugged/sharp-npm-0.33.0-ff/node_modules/sharp/lib/x.js", Some("sharp")),
            ("/srv/.pnp.cjs", Some(".pnp.cjs")),
            ("/srv/.yarn/releases/yarn-4.1.0.cjs", Some("yarn")),
            ("/opt/yarn-v1.22.22/lib/cli.js", Some("yarn")),
            ("/root/.cache/node/corepack/v1/pnpm/9.1.0/dist/pnpm.cjs", Some("pnpm")),
            ("/root/.cache/node/corepack/yarn/4.1.0/yarn.js", Some("yarn")),
            ("/srv/corepack/yarn.js", None),
            ("/usr/share/nodejs/express/lib/router.js", Some("express")),
            ("/usr/share/nodejs/@babel/parser/lib/index.js", Some("@babel/parser")),
            ("/usr/share/nodejs/npm/node_modules/ms/index.js", Some("ms")),
            ("/srv/share/nodejs/express/lib/router.js", None),
            ("/srv/.yarn/__virtual__/web-virtual-0a1/1/packages/web/src/x.js", None),
            ("C:\\srv\\node_modules\\lodash\\lodash.js", Some("lodash")),
            ("C:\\srv\\node_modules\\@acme\\pad\\index.js", Some("@acme\\pad")),
            ("file:///C:/srv/node_modules/@acme/pad/index.mjs", Some("@acme/pad")),
            ("webpack://shop/./node_modules/@acme/pad/index.mjs", Some("@acme/pad")),
            ("webpack-internal:///(rsc)/./node_modules/next/dist/x.js", Some("next")),
            ("/srv/node_modules/bcrypt/lib/binding/napi-v3/bcrypt_lib.node", Some("bcrypt")),
            (
                "/srv/node_modules/@img/sharp-libvips-linux-x64/lib/libvips-cpp.so.42",
                Some("@img/sharp-libvips-linux-x64"),
            ),
        ];
        for (path, package) in rows {
            assert_eq!(package_of(path), *package, "{path}");
        }
    }

    #[test]
    fn folders_and_versions() {
        type Row = (&'static str, Option<&'static str>, Option<&'static str>, Option<&'static str>);
        let rows: &[Row] = &[
            ("/srv/server.js", None, None, None),
            ("/srv/node_modules/single.js", None, None, Some("/srv")),
            ("/srv/node_modules/ms/index.js", Some("/srv/node_modules/ms"), None, Some("/srv")),
            (
                "/srv/node_modules/send/node_modules/@a/ms/lib/index.js",
                Some("/srv/node_modules/send/node_modules/@a/ms"),
                None,
                Some("/srv"),
            ),
            (
                "/srv/node_modules/.pnpm/ms@2.1.3/node_modules/ms/index.js",
                Some("/srv/node_modules/.pnpm/ms@2.1.3/node_modules/ms"),
                Some("2.1.3"),
                Some("/srv"),
            ),
            (
                "/srv/node_modules/.pnpm/@babel+core@7.0.0_supports-color@5.5.0/node_modules/@babel/core/x.js",
                Some(
                    "/srv/node_modules/.pnpm/@babel+core@7.0.0_supports-color@5.5.0/node_modules/@babel/core",
                ),
                Some("7.0.0"),
                Some("/srv"),
            ),
            (
                "/srv/node_modules/.pnpm/ui@file+..+ui/node_modules/ui/x.js",
                Some("/srv/node_modules/.pnpm/ui@file+..+ui/node_modules/ui"),
                None,
                Some("/srv"),
            ),
            (
                "/srv/node_modules/.store/ms-npm-2.1.3-81ff3cfac1/package/index.js",
                Some("/srv/node_modules/.store/ms-npm-2.1.3-81ff3cfac1/package"),
                Some("2.1.3"),
                Some("/srv"),
            ),
            (
                "/srv/.yarn/cache/ms-npm-2.1.3-81ff3cfac1-8.zip/node_modules/ms/index.js",
                Some("/srv/.yarn/cache/ms-npm-2.1.3-81ff3cfac1-8.zip/node_modules/ms"),
                Some("2.1.3"),
                Some("/srv/.yarn/cache/ms-npm-2.1.3-81ff3cfac1-8.zip"),
            ),
            (
                "/srv/.yarn/cache/postcss-npm-8.5.3-37174aa03d-b75510d7b2.zip/node_modules/postcss/lib/a.js",
                Some(
                    "/srv/.yarn/cache/postcss-npm-8.5.3-37174aa03d-b75510d7b2.zip/node_modules/postcss",
                ),
                Some("8.5.3"),
                Some("/srv/.yarn/cache/postcss-npm-8.5.3-37174aa03d-b75510d7b2.zip"),
            ),
            (
                "/srv/.yarn/unplugged/sharp-npm-0.33.0-rc.1-ff93ab21cd/node_modules/sharp/lib/x.js",
                Some("/srv/.yarn/unplugged/sharp-npm-0.33.0-rc.1-ff93ab21cd/node_modules/sharp"),
                Some("0.33.0-rc.1"),
                Some("/srv/.yarn/unplugged/sharp-npm-0.33.0-rc.1-ff93ab21cd"),
            ),
            (
                "C:\\srv\\node_modules\\@acme\\pad\\index.js",
                Some("C:\\srv\\node_modules\\@acme\\pad"),
                None,
                Some("C:\\srv"),
            ),
            ("node_modules/ms/index.js", Some("node_modules/ms"), None, None),
            ("/usr/share/nodejs/ms/index.js", Some("/usr/share/nodejs/ms"), None, None),
            ("/srv/.yarn/releases/yarn-4.1.0.cjs", None, None, None),
        ];
        for (path, folder, version, project) in rows {
            assert_eq!(package_folder(path), *folder, "{path}");
            assert_eq!(version_in_path(path), *version, "{path}");
            assert_eq!(project_folder(path), *project, "{path}");
        }
    }
}

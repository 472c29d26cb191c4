//! The npm package that a path or URL lies in, as npm, pnpm, yarn (zip, `__virtual__`, unplugged) and bun lay
//! them out. The answer is borrowed from the path, so a scope on Windows keeps its backslash.

const FOLDER: &str = "node_modules";

/// Yarn's loader, which yarn writes into the application's folder.
const YARN_LOADERS: &[&str] = &[".pnp.cjs", ".pnp.js", ".pnp.loader.mjs"];

/// The package of a script or native module, scope included: the last `node_modules` wins.
pub fn package_of(path: &str) -> Option<&str> {
    let Some(inside) = after_last_folder(path) else {
        return YARN_LOADERS.iter().find(|file| path.ends_with(*file)).copied();
    };
    let (first, rest) = split_segment(inside);
    match first.as_bytes().first()? {
        b'@' => scoped(inside, first, rest),
        b'.' => stored(first, rest),
        _ if rest.is_empty() => Some(without_ending(first)),
        _ => Some(first),
    }
}

/// What follows the last `node_modules/` that is a whole segment.
fn after_last_folder(path: &str) -> Option<&str> {
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
}

//! Names and paths as people read them: paths from the application's folder on, packages without what leads to them,
//! C++ names without their arguments. The whole text stays in the profile and in `--json`.

use profile::{Category, Profile};

/// The folders whose paths are shortened to start there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    folders: Vec<String>,
}

impl Folders {
    /// The working folders of the recorded processes; where none is known, what all scripts of the application have in
    /// common.
    pub fn new(profile: &Profile) -> Self {
        let known = profile.processes().iter().filter_map(|process| process.folder.some());
        let mut folders: Vec<String> = known.map(|id| profile.text(id).to_owned()).collect();
        folders.sort_unstable();
        folders.dedup();
        if folders.is_empty() {
            folders.extend(common_folder(own_paths(profile)));
        }
        Self { folders }
    }

    /// `lib/orders.js` for `/srv/shop/lib/orders.js`, `express/lib/router.js` for what lies in `node_modules`.
    pub fn short<'a>(&self, path: &'a str) -> &'a str {
        if let Some((_, inside)) = path.rsplit_once("/node_modules/") {
            return inside;
        }
        let bare = path.strip_prefix("file://").unwrap_or(path);
        let inside = |folder: &String| bare.strip_prefix(folder.as_str())?.strip_prefix('/');
        self.folders.iter().filter_map(inside).min_by_key(|rest| rest.len()).unwrap_or(bare)
    }
}

/// The scripts of the application.
fn own_paths(profile: &Profile) -> impl Iterator<Item = &str> {
    let frames = profile.frames();
    let own = frames.ids().filter(|id| frames.category[id.index()] == Category::App);
    let sources = own.map(|id| profile.function_of(id).source);
    sources.filter_map(|source| profile.source_path(source)).filter(|path| path.starts_with('/'))
}

/// The longest folder that all paths lie in; none where that is the root.
fn common_folder<'a>(mut paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut folder = paths.next()?.rsplit_once('/')?.0;
    for path in paths {
        while !path.strip_prefix(folder)?.starts_with('/') {
            folder = folder.rsplit_once('/')?.0;
        }
    }
    Some(folder.to_owned()).filter(|folder| !folder.is_empty())
}

/// `v8::internal::Heap::CollectGarbage` for that name with its parameters. Names without `::` or brackets stay
/// as they are, and so does what does not look like C++ or Rust.
pub fn native_name(name: &str) -> &str {
    // Clones that the compiler made: `foo(int) [clone .constprop.0]`.
    let whole = name.split(" [clone").next().unwrap_or(name);
    let Some(open) = parameters(whole) else { return whole };
    let declared = &whole[..open];
    // Templates begin with the type that they return.
    let start = if declared.contains("operator") { None } else { last_space(declared) };
    let short = &declared[start.map_or(0, |space| space + 1)..];
    if short.is_empty() { name } else { short }
}

/// Where the list of parameters begins: the last bracket that opens at the outermost level.
fn parameters(name: &str) -> Option<usize> {
    let end = name.rfind(')')?;
    if is_in_template(&name[end + 1..]) {
        return None;
    }
    let mut depth = 0usize;
    for (place, byte) in name[..=end].bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(place)
                        .filter(|place| *place > 0 && !name[..*place].ends_with(':'));
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether what stands before belongs to arguments of a template: `Search<(Mode)1, Array>` has no parameters.
fn is_in_template(rest: &str) -> bool {
    let mut depth = 0usize;
    for byte in rest.replace("->", "").bytes() {
        match byte {
            b'<' => depth += 1,
            b'>' if depth == 0 => return true,
            b'>' => depth -= 1,
            _ => {}
        }
    }
    false
}

/// The last space outside of all brackets.
fn last_space(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut found = None;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' | b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 => found = Some(place),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_names() {
        for (whole, short) in [
            ("uv__io_poll", "uv__io_poll"),
            ("main", "main"),
            (
                "v8::internal::Search<(v8::internal::Mode)1, v8::internal::Array>",
                "v8::internal::Search<(v8::internal::Mode)1, v8::internal::Array>",
            ),
            ("node::Start(int, char**)", "node::Start"),
            ("v8::internal::Heap::Scavenge() const", "v8::internal::Heap::Scavenge"),
            (
                "void v8::internal::Sweep<v8::internal::Page, (v8::internal::Mode)1>(int, bool)",
                "v8::internal::Sweep<v8::internal::Page, (v8::internal::Mode)1>",
            ),
            (
                "node::(anonymous namespace)::CompressionStream<node::ZlibContext>::DoWork(int)",
                "node::(anonymous namespace)::CompressionStream<node::ZlibContext>::DoWork",
            ),
            ("node::(anonymous namespace)", "node::(anonymous namespace)"),
            ("operator new(unsigned long)", "operator new"),
            ("foo::operator()(int) const", "foo::operator()"),
            ("copy_page(int) [clone .constprop.0]", "copy_page"),
            ("finish_task_switch.isra.0", "finish_task_switch.isra.0"),
            ("(anonymous)", "(anonymous)"),
            ("", ""),
            (")(", ")("),
            ("a)", "a)"),
        ] {
            assert_eq!(native_name(whole), short, "{whole}");
        }
    }

    #[test]
    fn common_folders() {
        let common = |paths: &[&str]| common_folder(paths.iter().copied());
        assert_eq!(common(&["/srv/shop/a.js", "/srv/shop/lib/b.js"]).as_deref(), Some("/srv/shop"));
        assert_eq!(common(&["/srv/shop/a.js", "/srv/shopping/b.js"]).as_deref(), Some("/srv"));
        assert_eq!(common(&["/srv/a.js", "/opt/b.js"]), None);
        assert_eq!(common(&[]), None);
    }

    #[test]
    fn paths() {
        let folders = Folders { folders: vec!["/srv/shop".to_owned()] };
        for (path, short) in [
            ("/srv/shop/lib/orders.js", "lib/orders.js"),
            ("file:///srv/shop/lib/orders.mjs", "lib/orders.mjs"),
            ("/srv/shopping/orders.js", "/srv/shopping/orders.js"),
            ("/srv/shop/node_modules/express/lib/router.js", "express/lib/router.js"),
            ("/a/node_modules/b/node_modules/@c/d/x.js", "@c/d/x.js"),
            ("node:internal/timers", "node:internal/timers"),
            ("/usr/bin/node", "/usr/bin/node"),
        ] {
            assert_eq!(folders.short(path), short);
        }
    }
}

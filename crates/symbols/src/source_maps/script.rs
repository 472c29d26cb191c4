//! One script with its map: what its functions, the places in them and the ticks on their lines were.

use std::cell::OnceCell;
use std::collections::HashMap;

use naming::TOP_LEVEL;
use profile::classify::{Code, CodeKind, classify};
use profile::{FrameId, Function, FunctionId, OriginalFrame, OriginalFunction, Originals, Profile};

use super::SourceRows;
use super::find::Mapped;
use super::map::Origin;
use super::names::{better_name, is_apart};
use super::project::Project;

/// See the module's text.
pub(super) struct Script<'a> {
    profile: &'a Profile,
    rows: &'a SourceRows,
    mapped: &'a Mapped,
    project: &'a Project<'a>,
    /// The readable path of each of the map's sources that was asked for: a bundle has thousands.
    paths: Vec<OnceCell<String>>,
}

impl<'a> Script<'a> {
    /// A script and its rows.
    pub(super) fn new(
        profile: &'a Profile,
        rows: &'a SourceRows,
        mapped: &'a Mapped,
        project: &'a Project<'a>,
    ) -> Self {
        let paths = mapped.map.sources().iter().map(|_| OnceCell::new()).collect();
        Self { profile, rows, mapped, project, paths }
    }

    /// The readable path of one of the map's sources.
    fn path(&self, source: u32) -> &str {
        let row = source as usize;
        self.paths[row].get_or_init(|| {
            let Mapped { map, folder, .. } = self.mapped;
            self.project.path_of(&map.sources()[row], folder)
        })
    }

    /// Adds what the map contains. The error is a sentence: the script is another one than was recorded.
    pub(super) fn add(&self, originals: &mut Originals) -> Result<(), String> {
        if self.has_changed() {
            let path = &self.rows.path;
            return Err(format!(
                "{path} has changed since it was recorded: its source map is of no use"
            ));
        }
        let mut sources: HashMap<FunctionId, u32> = HashMap::new();
        for id in &self.rows.functions {
            let row = self.profile.functions().row(*id);
            if let Some(origin) = self.origin(&row) {
                sources.insert(*id, origin.source);
                originals.functions.insert(*id, self.original(&row, &origin));
            }
        }
        for id in &self.rows.frames {
            let function = self.profile.frames().function[id.index()];
            if let (Some(original), Some(source)) =
                (originals.functions.get(&function), sources.get(&function))
            {
                let frame = self.frame(*id, original, *source);
                originals.frames.insert(*id, frame);
            }
        }
        let ticks = self.profile.line_ticks();
        for id in &self.rows.line_ticks {
            let frame = self.profile.stacks().frame[ticks.stack[id.index()].index()];
            let source = sources.get(&self.profile.frames().function[frame.index()]);
            let origin = self.mapped.map.origin_of_line(ticks.line[id.index()]);
            if let Some(origin) = origin.filter(|origin| source == Some(&origin.source)) {
                originals.line_ticks.insert(*id, origin.line);
            }
        }
        Ok(())
    }

    /// Whether a function starts where the script has no text.
    fn has_changed(&self) -> bool {
        let functions = self.profile.functions();
        self.rows.functions.iter().any(|id| {
            let (line, column) = (functions.line[id.index()], functions.column[id.index()]);
            line > 0 && self.mapped.text.around(line, column.max(1)).is_none()
        })
    }

    /// Where a function comes from.
    fn origin(&self, function: &Function) -> Option<Origin<'_>> {
        let Mapped { map, text, .. } = self.mapped;
        let (line, column) = (function.line, function.column);
        if self.profile.text(function.name) == TOP_LEVEL {
            // The top level of a bundle comes from all of its sources.
            let is_one = map.sources().len() == 1 && !map.sources()[0].is_empty();
            return is_one.then_some(Origin {
                source: 0,
                line: 1,
                column: 1,
                name: None,
                starts: 1,
            });
        }
        if column == 0 {
            return map.origin_of_line(line).map(|origin| Origin { column: 0, ..origin });
        }
        let origin = map.origin(line, column)?;
        let is_apart = map.has_columns(line) && is_apart(text, line, origin.starts, column);
        (!is_apart).then_some(origin)
    }

    fn original(&self, function: &Function, origin: &Origin<'_>) -> OriginalFunction {
        let name = self.profile.text(function.name);
        let Mapped { map, text, .. } = self.mapped;
        let better = better_name(name, map, text, (function.line, function.column));
        let path = self.path(origin.source);
        let class_in = |source| {
            classify(&Code { kind: CodeKind::JavaScript, name, source: Some(source), module: None })
        };
        let mut class = class_in(path);
        if class.package.is_none() {
            // What a package brings is the package's, wherever its author wrote it.
            let generated = class_in(&self.rows.path);
            class = if generated.package.is_some() { generated } else { class };
        }
        OriginalFunction {
            name: better.unwrap_or_else(|| name.to_owned()),
            path: path.to_owned(),
            line: origin.line,
            column: origin.column,
            package: class.package.map(str::to_owned),
            category: class.category,
        }
    }

    /// A place in a function that comes from that source.
    fn frame(&self, id: FrameId, function: &OriginalFunction, source: u32) -> OriginalFrame {
        let frame = self.profile.frames().row(id);
        let origin = match (frame.line, frame.column) {
            (0, _) => None,
            (line, 0) => {
                self.mapped.map.origin_of_line(line).map(|origin| (origin.source, origin.line, 0))
            }
            (line, column) => self
                .mapped
                .map
                .origin(line, column)
                .map(|origin| (origin.source, origin.line, origin.column)),
        };
        // Bundlers put functions into others: such a line is that of another file.
        let origin = origin.filter(|(other, ..)| *other == source);
        let (_, line, column) = origin.unwrap_or((source, 0, 0));
        let name = self.profile.text(self.profile.functions().name[frame.function.index()]);
        let symbol = spell(self.profile.text(frame.symbol), name, function);
        OriginalFrame { line, column, symbol }
    }
}

/// How the recording would have written the original function.
pub(super) fn spell(symbol: &str, name: &str, original: &OriginalFunction) -> String {
    let parts = v8::name::parse(symbol).or_else(|| v8::name::parse_untagged(symbol));
    if parts.is_none_or(|parts| parts.script.is_none()) {
        return if symbol == name {
            original.name.clone()
        } else {
            symbol.replace(name, &original.name)
        };
    }
    // Without a tag, a mark at the beginning is the name's own.
    let is_bare = symbol.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
    let (tag, rest) = if is_bare { ("", symbol) } else { split_tag(symbol) };
    // V8 writes nothing where there is no name.
    let is_nameless = rest.starts_with(' ') && name == original.name;
    let mut text =
        format!("{tag}{} {}", if is_nameless { "" } else { &original.name }, original.path);
    for number in [original.line, original.column].into_iter().take_while(|number| *number > 0) {
        text.push_str(&format!(":{number}"));
    }
    text
}

/// V8's tag and the mark of the tier: `JS:*`.
fn split_tag(symbol: &str) -> (&str, &str) {
    let is_tagged = v8::name::parse(symbol).is_some();
    let tag = symbol.find(':').filter(|_| is_tagged).map_or(0, |colon| colon + 1);
    let is_marked = is_tagged || v8::name::parse_untagged(symbol).is_some();
    let mark = symbol[tag..].starts_with(['*', '~', '^', '+']) && is_marked;
    symbol.split_at(tag + usize::from(mark))
}

#[cfg(test)]
mod tests {
    use profile::Category;

    use super::*;

    #[test]
    fn symbols_are_spelt_as_the_recording_spells_them() {
        let original = |name: &str| OriginalFunction {
            name: name.into(),
            path: "/srv/src/a.ts".into(),
            line: 3,
            column: 7,
            package: None,
            category: Category::App,
        };
        let rows = [
            ("JS:*l /srv/dist/a.js:1:975", "l", "load", "JS:*load /srv/src/a.ts:3:7"),
            ("JS:^l file:///srv/dist/a.js:1:975", "l", "load", "JS:^load /srv/src/a.ts:3:7"),
            ("LazyCompile:~l /srv/dist/a.js:1", "l", "load", "LazyCompile:~load /srv/src/a.ts:3:7"),
            ("JS:~ /srv/dist/a.js:1:975", "(anonymous)", "(anonymous)", "JS:~ /srv/src/a.ts:3:7"),
            (
                "(anonymous) /srv/dist/a.js:1:975",
                "(anonymous)",
                "(anonymous)",
                "(anonymous) /srv/src/a.ts:3:7",
            ),
            ("l /srv/dist/a.js:1:975", "l", "load", "load /srv/src/a.ts:3:7"),
            ("*l /srv/dist/a.js:1:975", "l", "load", "*load /srv/src/a.ts:3:7"),
            ("*l /srv/dist/a.js:1:975", "*l", "*load", "*load /srv/src/a.ts:3:7"),
            (
                "JS:*a b /srv/my dist/a b.js:1:975",
                "a b",
                "my load",
                "JS:*my load /srv/src/a.ts:3:7",
            ),
            ("l", "l", "load", "load"),
        ];
        for (symbol, name, better, expected) in rows {
            assert_eq!(spell(symbol, name, &original(better)), expected, "{symbol}");
        }
    }
}

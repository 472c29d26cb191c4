//! Whose each piece of code is, and what it is called without its owner's words.

use std::collections::BTreeSet;

use super::paths::{file_name, installed, is_public_module, own_file, own_module, public_module};
use super::stand_ins::StandIns;
use crate::category::{Category, Tier};
use crate::classify::{
    GENERATED_CODE, classify_script, generated_from, generator_of, is_meta, is_unknown, package_of,
};
use crate::ids::{FrameId, FunctionId};
use crate::model::Profile;

/// Names that many functions have, and that we or V8 give them.
const COMMON: &[&str] = &["(anonymous)", "(top level)", "(eval)", "[JIT]"];
/// How names begin that we made up for what is missing.
const MADE_UP: &str = "… ";
/// Scripts that are no files.
const NO_FILES: &[&str] = &[
    "[eval]",
    "[eval]-wrapper",
    "[stdin]",
    "[stdin]-wrapper",
    "[worker eval]",
    "evalmachine.<anonymous>",
    "lodash.templateSources[",
    "repl",
    "REPL",
];
/// What stands behind the path of a file whose lines are not meant.
const GENERATED_MARK: &str = " (generated)";
/// How V8 writes what a piece of code is, before its name.
const TAGS: &[&str] = &["JS:", "LazyCompile:", "Function:", "Script:", "Eval:", "RegExp:", "wasm:"];

/// A profile's code, before it is changed.
pub(super) struct Code<'a> {
    profile: &'a Profile,
    /// The category of each function, by its first frame.
    categories: Vec<Category>,
    own_packages: BTreeSet<String>,
    /// For each source whether a function of it is public, and none is not.
    is_public_source: Vec<bool>,
}

impl<'a> Code<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let mut categories = vec![None; profile.functions.len()];
        for (function, category) in profile.frames.function.iter().zip(&profile.frames.category) {
            categories[function.index()].get_or_insert(*category);
        }
        let categories: Vec<Category> =
            categories.into_iter().map(|it| it.unwrap_or(Category::Unknown)).collect();
        let own_rows = profile.packages.iter().filter(|row| row.own).map(|row| row.name);
        let of_functions = profile.functions.package.iter().zip(&categories);
        let own_functions = of_functions.filter(|(_, it)| **it == Category::App).map(|(id, _)| *id);
        let names = own_rows.chain(own_functions).filter_map(crate::StringId::some);
        let own_packages = names.map(|id| profile.text(id).to_owned()).collect();
        let mut code = Self { profile, categories, own_packages, is_public_source: Vec::new() };
        code.is_public_source = code.public_sources();
        code
    }

    /// The packages that the user wrote.
    pub(super) fn own_packages(&self) -> BTreeSet<String> {
        self.own_packages.clone()
    }

    /// For each binary whether it may be the user's.
    pub(super) fn own_modules(&self) -> Vec<bool> {
        let names = self.profile.modules.iter().map(|row| self.profile.text(row.name));
        names.map(|name| !is_public_module(name, &self.own_packages)).collect()
    }

    fn public_sources(&self) -> Vec<bool> {
        let mut is_public = vec![None; self.profile.sources.len()];
        for id in self.profile.functions.ids() {
            if let Some(source) = self.profile.functions.source[id.index()].some() {
                let known = is_public[source.index()].get_or_insert(true);
                *known &= self.is_native(id) && self.is_public(id);
            }
        }
        is_public.into_iter().map(|it| it == Some(true)).collect()
    }

    fn is_native(&self, id: FunctionId) -> bool {
        let category = self.categories[id.index()];
        !matches!(category, Category::App | Category::Dependency | Category::Wasm)
    }

    /// Whether a function is the same in other people's recordings.
    fn is_public(&self, id: FunctionId) -> bool {
        let function = self.profile.functions.row(id);
        if let Some(package) = function.package.some() {
            return !self.own_packages.contains(self.profile.text(package));
        }
        match self.categories[id.index()] {
            Category::App
            | Category::Dependency
            | Category::Wasm
            | Category::Addon
            | Category::Unknown => false,
            Category::System => self
                .profile
                .module_name(function.module)
                .is_some_and(|module| is_public_module(module, &self.own_packages)),
            Category::Regexp => !self.profile.text(function.name).starts_with('/'),
            _ => true,
        }
    }

    /// What a function is called.
    pub(super) fn function(&self, id: FunctionId, stand_ins: &mut StandIns) -> String {
        let name = self.profile.text(self.profile.functions.name[id.index()]);
        let is_common = COMMON.contains(&name) || name.starts_with(MADE_UP);
        if is_common || is_meta(name) || is_unknown(name) {
            return name.to_owned();
        }
        match (self.categories[id.index()], name.split_once(':')) {
            (Category::Regexp, _) if name.starts_with('/') => {
                format!("/{}/", stand_ins.of("regexp", name))
            }
            // Stubs and inline caches are named after a property: `LoadIC: total`.
            (Category::Builtin, Some((tag, rest))) if !rest.starts_with(':') => {
                format!("{tag}:{}", stand_ins.of("property", rest))
            }
            _ if self.is_public(id) => name.to_owned(),
            _ => stand_ins.of("fn", name),
        }
    }

    /// What a source is called.
    pub(super) fn source(&self, row: usize, stand_ins: &mut StandIns) -> String {
        let path = self.profile.text(self.profile.sources[row].path);
        if let Some(base) = path.strip_suffix(GENERATED_MARK) {
            return format!("{}{GENERATED_MARK}", self.script(base, stand_ins));
        }
        if self.is_public_source[row] && package_of(path).is_none() {
            let is_named = classify_script(path).category == Category::NodeCore;
            return if is_named { path.to_owned() } else { file_name(path).to_owned() };
        }
        self.script(path, stand_ins)
    }

    fn script(&self, path: &str, stand_ins: &mut StandIns) -> String {
        if path == GENERATED_CODE || NO_FILES.iter().any(|name| path.starts_with(name)) {
            return path.to_owned();
        }
        if let Some(generator) = generator_of(path) {
            return generated_from(&self.generator(generator, stand_ins));
        }
        if let Some(package) = package_of(path).filter(|name| !self.own_packages.contains(*name)) {
            return installed(path, package, &self.own_packages);
        }
        if let Some(module) = path.strip_prefix("wasm://") {
            return format!("wasm://{}", stand_ins.of("module", module));
        }
        match classify_script(path).category {
            Category::NodeCore | Category::Builtin => path.to_owned(),
            _ => own_file(path, stand_ins),
        }
    }

    /// What generated code: a package by its name, or a script.
    fn generator(&self, generator: &str, stand_ins: &mut StandIns) -> String {
        if self.own_packages.contains(generator) {
            return stand_ins.of("own", generator);
        }
        let is_package =
            self.profile.functions.package.iter().any(|id| self.profile.text(*id) == generator);
        if is_package { generator.to_owned() } else { self.script(generator, stand_ins) }
    }

    /// What a binary is called.
    pub(super) fn module(&self, row: usize, stand_ins: &mut StandIns) -> String {
        let path = self.profile.text(self.profile.modules[row].name);
        match is_public_module(path, &self.own_packages) {
            true => public_module(path, &self.own_packages),
            false => own_module(path, stand_ins),
        }
    }

    /// How a recording would have written a function with that name, in that file.
    pub(super) fn symbol(&self, id: FrameId, name: &str, path: Option<&str>) -> String {
        let frame = self.profile.frames.row(id);
        let function = self.profile.functions.row(frame.function);
        let (symbol, old) = (self.profile.text(frame.symbol), self.profile.text(function.name));
        if name == old && path == self.profile.source_path(function.source) {
            return symbol.to_owned();
        }
        // A native symbol does not contain its file.
        if frame.tier == Tier::None {
            return if name == old {
                symbol.to_owned()
            } else {
                format!("{}{name}", tag_of(symbol))
            };
        }
        let tag = tag_of(symbol);
        let name = if COMMON.contains(&name) && !symbol.contains(name) { "" } else { name };
        let place = symbol.rsplit_once(['/', '\\']).map_or(symbol, |(_, file)| file);
        let position = place.find(':').map_or("", |at| &place[at..]);
        let is_position = position.bytes().all(|byte| byte == b':' || byte.is_ascii_digit());
        match path.filter(|_| symbol.contains(' ')) {
            Some(path) if is_position => format!("{tag}{name} {path}{position}"),
            Some(path) => format!("{tag}{name} {path}"),
            None => format!("{tag}{name}"),
        }
    }
}

/// V8's tag and the mark of the tier: `JS:*`.
fn tag_of(symbol: &str) -> &str {
    let tag = TAGS.iter().find(|tag| symbol.starts_with(*tag)).map_or(0, |tag| tag.len());
    let is_marked = symbol[tag..].starts_with(['*', '~', '^', '+']);
    &symbol[..tag + usize::from(is_marked)]
}

//! Whose frame is on top of each stack, as far as a lens asks: the user's, a package's, Node's, or the engine's.

use profile::{Category, Profile, StackId, StringId};

use crate::selection::Selection;

/// Whose a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The user's: application code, and WebAssembly and addons that belong to no package.
    Own,
    /// A package's.
    Package,
    /// Node's or libuv's.
    Core,
    /// Garbage collection's or the kernel's.
    Engine,
    /// Anything else, and what is hidden.
    Other,
}

/// The parts of all stacks, in one pass from callers to callees.
pub(super) struct Parts {
    parts: Vec<Part>,
    /// The stack itself, or the nearest one outside of it whose part is not [`Part::Other`].
    nearest: Vec<StackId>,
    /// The nearest one outside of that.
    next: Vec<StackId>,
    has_own: Vec<bool>,
    has_users: Vec<bool>,
}

impl Parts {
    pub(super) fn of(profile: &Profile, selection: &Selection) -> Self {
        let stacks = profile.stacks();
        let mut parts = Self::with_capacity(stacks.len());
        for id in stacks.ids() {
            let row = stacks.row(id);
            let function = profile.frames().function[row.frame.index()];
            let package = profile.functions().package[function.index()];
            let seen = part(row.category, package);
            let shown = if selection.hides(profile, id) { Part::Other } else { seen };
            let outer = row.parent.some().map(StackId::index);
            let outside = outer.map_or(StackId::NONE, |outer| parts.nearest[outer]);
            let has_own = outer.is_some_and(|outer| parts.has_own[outer]);
            let has_users = outer.is_some_and(|outer| parts.has_users[outer]);
            parts.parts.push(shown);
            parts.nearest.push(if shown == Part::Other { outside } else { id });
            parts.next.push(outside);
            parts.has_own.push(has_own || seen == Part::Own);
            parts.has_users.push(has_users || matches!(seen, Part::Own | Part::Package));
        }
        parts
    }

    fn with_capacity(stacks: usize) -> Self {
        Self {
            parts: Vec::with_capacity(stacks),
            nearest: Vec::with_capacity(stacks),
            next: Vec::with_capacity(stacks),
            has_own: Vec::with_capacity(stacks),
            has_users: Vec::with_capacity(stacks),
        }
    }

    pub(super) fn of_stack(&self, id: StackId) -> Part {
        self.parts[id.index()]
    }

    /// Whether a function of the user is on the stack.
    pub(super) fn has_own(&self, id: StackId) -> bool {
        self.has_own.get(id.index()).copied().unwrap_or(false)
    }

    /// Whether a function of the user or of a package is on the stack.
    pub(super) fn has_users(&self, id: StackId) -> bool {
        self.has_users.get(id.index()).copied().unwrap_or(false)
    }

    /// The stacks whose topmost frames are some part, from the topmost one down to the root.
    pub(super) fn chain(&self, id: StackId) -> impl Iterator<Item = StackId> {
        let first = self.nearest.get(id.index()).and_then(|id| id.some());
        std::iter::successors(first, |id| self.next[id.index()].some())
    }
}

fn part(category: Category, package: StringId) -> Part {
    match category {
        Category::App => Part::Own,
        Category::Wasm | Category::Addon if package == StringId::NONE => Part::Own,
        Category::Dependency | Category::Wasm | Category::Addon => Part::Package,
        Category::NodeCore | Category::Libuv => Part::Core,
        Category::Gc | Category::Kernel => Part::Engine,
        _ => Part::Other,
    }
}

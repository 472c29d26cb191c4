//! How many frames were seen, and how many of them have no name, by reason.

use std::collections::BTreeMap;

use profile::classify::{Home, home_of};
use profile::{Builder, Category, FrameId, StackId};
use rustc_hash::FxHashMap;

pub use profile::WITHOUT_MAP;

/// How our own reader of V8's heap names WebAssembly of which it found no code.
const UNKNOWN_WASM: &str = "JS:wasm-function[?]-";

/// What was counted in a recording, which may still grow.
#[derive(Default)]
pub struct Quality {
    frames: u64,
    /// Why frames have no name, and how often they were seen.
    reasons: Vec<(String, u64)>,
    by_frame: Vec<Name>,
    by_stack: Vec<Known>,
}

/// What is known of the name of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    NotAsked,
    There,
    /// Missing, for a reason of that row.
    Missing(u32),
}

/// What is known of a stack.
#[derive(Clone, Copy)]
struct Known {
    depth: u32,
    /// The innermost stack from here to the root whose own frame has no name.
    unnamed: StackId,
}

impl Quality {
    /// The frames in all samples.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Those without a name, by reason.
    pub fn unnamed(&self) -> BTreeMap<String, u64> {
        self.reasons.iter().filter(|(_, count)| *count > 0).cloned().collect()
    }

    /// Counts the samples that the builder has. `why` knows more about a frame without a name than its module.
    pub fn count(&mut self, builder: &Builder, why: impl Fn(FrameId) -> Option<String>) {
        self.learn(builder, why);
        let profile = builder.so_far();
        let mut seen: FxHashMap<StackId, u64> = FxHashMap::default();
        for lane in profile.lanes() {
            for (row, stack) in lane.samples.stack.iter().enumerate() {
                if stack.some().is_some() {
                    let sum = seen.entry(*stack).or_default();
                    *sum = sum.saturating_add(lane.samples_in_row(row));
                }
            }
        }
        for (stack, count) in seen {
            self.count_stack(builder, stack, count);
        }
    }

    fn count_stack(&mut self, builder: &Builder, stack: StackId, count: u64) {
        let stacks = builder.so_far().stacks();
        let Known { depth, mut unnamed } = self.by_stack[stack.index()];
        self.frames = self.frames.saturating_add(count.saturating_mul(u64::from(depth)));
        while let Some(stack) = unnamed.some() {
            if let Name::Missing(reason) = self.by_frame[stacks.frame[stack.index()].index()] {
                let sum = &mut self.reasons[reason as usize].1;
                *sum = sum.saturating_add(count);
            }
            let caller = stacks.parent[stack.index()].some();
            unnamed = caller.map_or(StackId::NONE, |caller| self.by_stack[caller.index()].unnamed);
        }
    }

    /// Looks at the stacks that are new.
    fn learn(&mut self, builder: &Builder, why: impl Fn(FrameId) -> Option<String>) {
        let stacks = builder.so_far().stacks();
        self.by_frame.resize(builder.so_far().frames().len(), Name::NotAsked);
        for row in self.by_stack.len()..stacks.len() {
            let id = StackId::from_index(row);
            let (caller, frame) = (stacks.parent[row], stacks.frame[row]);
            if self.by_frame[frame.index()] == Name::NotAsked {
                let reason =
                    unnamed_reason(builder, frame).map(|reason| why(frame).unwrap_or(reason));
                self.by_frame[frame.index()] =
                    reason.map_or(Name::There, |reason| self.missing(reason));
            }
            let caller = caller.some().map(|caller| self.by_stack[caller.index()]);
            let caller = caller.unwrap_or(Known { depth: 0, unnamed: StackId::NONE });
            let has_name = self.by_frame[frame.index()] == Name::There;
            let unnamed = if has_name { caller.unnamed } else { id };
            self.by_stack.push(Known { depth: caller.depth + 1, unnamed });
        }
    }

    fn missing(&mut self, reason: String) -> Name {
        let known = self.reasons.iter().position(|(known, _)| *known == reason);
        let row = known.unwrap_or_else(|| {
            self.reasons.push((reason, 0));
            self.reasons.len() - 1
        });
        Name::Missing(row as u32)
    }
}

/// Counts the frames in samples, and those without a name by reason.
pub fn settle_quality(builder: &mut Builder) {
    settle_quality_with(builder, |_| None);
}

/// The same, where more is known about why a frame has no name.
pub fn settle_quality_with(builder: &mut Builder, why: impl Fn(FrameId) -> Option<String>) {
    let mut quality = Quality::default();
    quality.count(builder, why);
    let losses = &mut builder.meta().losses;
    losses.frames = quality.frames();
    losses.unnamed = quality.unnamed();
}

/// Why a frame has no name; `None` when it has one.
fn unnamed_reason(builder: &Builder, frame: FrameId) -> Option<String> {
    let profile = builder.so_far();
    let symbol = builder.text(profile.frames().symbol[frame.index()]);
    if symbol.starts_with(UNKNOWN_WASM) {
        return Some("WebAssembly whose code was not found".into());
    }
    if !matches!(symbol, "[unknown]" | " " | "[unknown]_[k]" | "[unknown]_[j]") {
        return None;
    }
    let frame = profile.frames().row(frame);
    let module = profile.functions().module[frame.function.index()];
    let module = module.some().map(|id| builder.text(profile.modules()[id.index()].name));
    Some(match (module, frame.category) {
        (None | Some("[unknown]"), _) => "nothing is mapped at the address".into(),
        (Some(module), Category::Unknown) if home_of(module) == Home::Generated => {
            WITHOUT_MAP.into()
        }
        (Some(module), _) => format!("no symbol in {module}"),
    })
}

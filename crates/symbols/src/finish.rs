//! What every importer of named stacks does at the end: tell what each thread is for from what it ran, settle the
//! clock, and count the frames that have no name.

use std::collections::BTreeMap;

use profile::classify::{self, Home, home_of};
use profile::{Builder, Category, FrameId, FunctionId, Profile, Role, ThreadId, Unit};
use rustc_hash::FxHashMap;

/// Why JavaScript has no name when perf found no map.
pub const WITHOUT_MAP: &str = "generated code without a perf map";

/// How our own reader of V8's heap names WebAssembly of which it found no code.
const UNKNOWN_WASM: &str = "JS:wasm-function[?]-";

/// How many frames from the root can tell what a thread is for.
const ROOT_FRAMES: u8 = 8;

/// Gives threads that their names do not explain a role, from the functions near the roots of their stacks:
/// older Nodes call every thread `node`.
pub fn infer_roles(builder: &mut Builder) {
    let profile = builder.so_far();
    if profile.threads().iter().all(|thread| thread.role != Role::Other) {
        return;
    }
    let stacks = profile.stacks();
    let mut by_function: FxHashMap<FunctionId, Option<Role>> = FxHashMap::default();
    let mut by_stack: Vec<(Option<Role>, u8)> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let stack = stacks.row(id);
        let (inherited, depth) =
            stack.parent.some().map_or((None, 0), |id| (by_stack[id.index()].0, by_stack[id.index()].1 + 1));
        let role = inherited.or_else(|| {
            let function = profile.frames().function[stack.frame.index()];
            // A script's function may be called as one of libuv's.
            profile.functions().source[function.index()].some().is_none().then_some(())?;
            let name = || builder.text(profile.functions().name[function.index()]);
            let known = by_function.entry(function);
            (depth < ROOT_FRAMES).then(|| *known.or_insert_with(|| classify::role_of_symbol(name())))?
        });
        by_stack.push((role, depth.min(ROOT_FRAMES)));
    }
    let mut roles: Vec<Option<Role>> = vec![None; profile.threads().len()];
    for lane in profile.lanes() {
        for (thread, stack) in lane.samples.thread.iter().zip(&lane.samples.stack) {
            let role = &mut roles[thread.index()];
            *role = role.or_else(|| by_stack[stack.some()?.index()].0);
        }
    }
    let unknown = |row: &usize| profile.threads()[*row].role == Role::Other;
    let found: Vec<(ThreadId, Role)> = (0..roles.len())
        .filter(unknown)
        .filter_map(|row| Some((ThreadId::from_index(row), roles[row]?)))
        .collect();
    for (thread, role) in found {
        builder.set_role(thread, role);
    }
}

/// The clock at time 0, and the interval of a sampling by time.
pub fn settle_clock(builder: &mut Builder) {
    let lanes = builder.so_far().lanes();
    let start_clock_s = first_ns(builder.so_far()).map(|ns| ns as f64 / 1e9);
    let main = lanes.first().filter(|lane| lane.unit == Unit::Ns);
    let interval_ns = main.and_then(|lane| median(&lane.samples.weight));
    builder.meta().start_clock_s = start_clock_s;
    builder.meta().interval_ns = interval_ns;
}

/// The time that becomes 0: that of the first sample, marker, time off the CPU or look at an event loop.
pub(crate) fn first_ns(profile: &Profile) -> Option<u64> {
    let lanes = profile.lanes().iter().filter(|lane| lane.timed);
    let samples = lanes.filter_map(|lane| lane.samples.time_ns.iter().min());
    let spans = [
        &profile.markers().start_ns,
        &profile.off_cpu().start_ns,
        &profile.loops().start_ns,
        &profile.long_turns().start_ns,
        &profile.seconds().start_ns,
    ];
    samples.chain(spans.into_iter().filter_map(|starts| starts.iter().min())).min().copied()
}

fn median(weights: &[u64]) -> Option<u64> {
    let mut weights = weights.to_vec();
    let middle = weights.len() / 2;
    (!weights.is_empty()).then(|| *weights.select_nth_unstable(middle).1)
}

/// Counts the frames in samples, and those without a name by reason.
pub fn settle_quality(builder: &mut Builder) {
    settle_quality_with(builder, |_| None);
}

/// The same, where more is known about why a frame has no name.
pub fn settle_quality_with(builder: &mut Builder, why: impl Fn(FrameId) -> Option<String>) {
    let profile = builder.so_far();
    let stacks = profile.stacks();
    let mut seen = vec![0u64; stacks.len()];
    for lane in profile.lanes() {
        for (row, stack) in lane.samples.stack.iter().enumerate() {
            if let Some(stack) = stack.some() {
                seen[stack.index()] = seen[stack.index()].saturating_add(lane.samples_in_row(row));
            }
        }
    }
    let mut frames = 0u64;
    let mut by_frame = vec![0u64; profile.frames().len()];
    for id in stacks.ids().rev() {
        let (count, parent) = (seen[id.index()], stacks.parent[id.index()]);
        if let Some(parent) = parent.some() {
            seen[parent.index()] = seen[parent.index()].saturating_add(count);
        }
        frames = frames.saturating_add(count);
        let sum = &mut by_frame[stacks.frame[id.index()].index()];
        *sum = sum.saturating_add(count);
    }
    let mut unnamed: BTreeMap<String, u64> = BTreeMap::new();
    for (id, count) in profile.frames().ids().zip(by_frame) {
        if let Some(reason) = unnamed_reason(builder, id).map(|reason| why(id).unwrap_or(reason)) {
            let sum = unnamed.entry(reason).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let losses = &mut builder.meta().losses;
    losses.frames = frames;
    losses.unnamed = unnamed;
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
        (Some(module), Category::Unknown) if home_of(module) == Home::Generated => WITHOUT_MAP.into(),
        (Some(module), _) => format!("no symbol in {module}"),
    })
}

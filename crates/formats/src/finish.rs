//! What every importer of named stacks does at the end: tell what each thread is for from what it ran, and
//! count the frames that have no name.

use std::collections::BTreeMap;

use profile::classify::{self, Home, home_of};
use profile::{Builder, Category, FrameId, Role, ThreadId};

/// Gives threads that their names do not explain a role, from the functions near the roots of their stacks:
/// older Nodes call every thread `node`.
pub(crate) fn infer_roles(builder: &mut Builder) {
    let profile = builder.so_far();
    if profile.threads().iter().all(|thread| thread.role != Role::Other) {
        return;
    }
    let functions = profile.functions();
    let by_function: Vec<Option<Role>> =
        functions.name.iter().map(|&name| classify::role_of_symbol(builder.text(name))).collect();
    let stacks = profile.stacks();
    let mut by_stack: Vec<Option<Role>> = Vec::with_capacity(stacks.len());
    for id in stacks.ids() {
        let stack = stacks.row(id);
        let inherited = stack.parent.some().and_then(|parent| by_stack[parent.index()]);
        let function = profile.frames().function[stack.frame.index()];
        by_stack.push(inherited.or(by_function[function.index()]));
    }
    let mut roles: Vec<Option<Role>> = vec![None; profile.threads().len()];
    for lane in profile.lanes() {
        for (thread, stack) in lane.samples.thread.iter().zip(&lane.samples.stack) {
            let role = &mut roles[thread.index()];
            *role = role.or_else(|| by_stack[stack.some()?.index()]);
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

/// Counts the frames in samples, and those without a name by reason.
pub(crate) fn settle_quality(builder: &mut Builder) {
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
        if let Some(reason) = unnamed_reason(builder, id) {
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
    if !matches!(symbol, "[unknown]" | " " | "[unknown]_[k]" | "[unknown]_[j]") {
        return None;
    }
    let frame = profile.frames().row(frame);
    let module = profile.functions().module[frame.function.index()];
    let module = module.some().map(|id| builder.text(profile.modules()[id.index()].name));
    Some(match (module, frame.category) {
        (None | Some("[unknown]"), _) => "nothing is mapped at the address".into(),
        (Some(module), Category::Unknown) if home_of(module) == Home::Generated => {
            "generated code without a perf map".into()
        }
        (Some(module), _) => format!("no symbol in {module}"),
    })
}

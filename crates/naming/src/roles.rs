//! What threads are for, from what they run: older Nodes call every thread `node`.

use profile::classify;
use profile::{Builder, FunctionId, Role, StackId, ThreadId};
use rustc_hash::FxHashMap;

/// How many frames from the root can show what a thread is for.
const ROOT_FRAMES: u8 = 8;

/// What is known of the stacks of a recording, which may still grow.
#[derive(Default)]
pub struct Roles {
    by_function: FxHashMap<FunctionId, Option<Role>>,
    /// The role that each stack implies, and how far it is from its root.
    by_stack: Vec<(Option<Role>, u8)>,
}

impl Roles {
    /// Gives threads that their names do not explain a role, from the functions near the roots of the stacks of the
    /// samples that the builder has.
    pub fn infer(&mut self, builder: &mut Builder) {
        let threads = builder.so_far().threads();
        if threads.iter().all(|thread| thread.role != Role::Other) {
            return;
        }
        self.learn(builder);
        let profile = builder.so_far();
        let mut roles: Vec<Option<Role>> = vec![None; threads.len()];
        for lane in profile.lanes() {
            for (thread, stack) in lane.samples.thread.iter().zip(&lane.samples.stack) {
                let role = &mut roles[thread.index()];
                *role = role.or_else(|| self.by_stack[stack.some()?.index()].0);
            }
        }
        let found: Vec<(ThreadId, Role)> = (0..roles.len())
            .filter(|row| threads[*row].role == Role::Other)
            .filter_map(|row| Some((ThreadId::from_index(row), roles[row]?)))
            .collect();
        for (thread, role) in found {
            builder.set_role(thread, role);
        }
    }

    /// Looks at the stacks that are new.
    fn learn(&mut self, builder: &Builder) {
        let profile = builder.so_far();
        let stacks = profile.stacks();
        for row in self.by_stack.len()..stacks.len() {
            let stack = stacks.row(StackId::from_index(row));
            let caller = stack.parent.some().map(|id| self.by_stack[id.index()]);
            let (inherited, depth) = caller.map_or((None, 0), |(role, depth)| (role, depth + 1));
            let role = inherited.or_else(|| {
                let function = profile.frames().function[stack.frame.index()];
                // A script's function may be called as one of libuv's.
                profile.functions().source[function.index()].some().is_none().then_some(())?;
                let name = || builder.text(profile.functions().name[function.index()]);
                let known = self.by_function.entry(function);
                (depth < ROOT_FRAMES)
                    .then(|| *known.or_insert_with(|| classify::role_of_symbol(name())))?
            });
            self.by_stack.push((role, depth.min(ROOT_FRAMES)));
        }
    }
}

//! Which functions of two recordings are the same: those of one name and place, best with the same position. Where an
//! edit moved lines, those of one name that are left over are the same in their order.

use std::collections::BTreeMap;

use profile::{FunctionId, Profile};

/// The functions of both: those of the newer recording, then those that only the older one has.
pub(super) struct Functions {
    /// For each function of the older recording its row among both.
    pub(super) of_before: Vec<FunctionId>,
    /// How many there are.
    pub(super) count: usize,
    /// The functions that only the older one has, in the order of their rows.
    gone: Vec<FunctionId>,
}

impl Functions {
    /// A text about a row's function, made by `words` from the profile that has it.
    pub(super) fn text_of(
        &self,
        before: &Profile,
        now: &Profile,
        row: usize,
        words: impl Fn(&Profile, FunctionId) -> String,
    ) -> String {
        let own = now.functions().len();
        let (profile, id) = match row.checked_sub(own) {
            None => (now, FunctionId::from_index(row)),
            Some(later) => (before, self.gone.get(later).copied().unwrap_or(FunctionId::NONE)),
        };
        id.some().map(|id| words(profile, id)).unwrap_or_default()
    }
}

pub(super) fn functions(before: &Profile, now: &Profile) -> Functions {
    let known = by_name(now);
    let mut found = vec![FunctionId::NONE; before.functions().len()];
    for (words, ids) in by_name(before) {
        let mut left = known.get(&words).cloned().unwrap_or_default();
        for id in &ids {
            let same = |other: &FunctionId| position(now, *other) == position(before, *id);
            if let Some(at) = left.iter().position(same) {
                found[id.index()] = left.remove(at);
            }
        }
        let mut left = left.into_iter();
        for id in ids {
            if found[id.index()].some().is_none() {
                found[id.index()] = left.next().unwrap_or(FunctionId::NONE);
            }
        }
    }
    let mut gone = Vec::new();
    for (row, id) in found.iter_mut().enumerate() {
        if id.some().is_none() {
            *id = FunctionId::from_index(now.functions().len() + gone.len());
            gone.push(FunctionId::from_index(row));
        }
    }
    Functions { of_before: found, count: now.functions().len() + gone.len(), gone }
}

/// The functions of each name and place, in the order of their positions.
fn by_name(profile: &Profile) -> BTreeMap<(String, String), Vec<FunctionId>> {
    let mut groups: BTreeMap<(String, String), Vec<FunctionId>> = BTreeMap::new();
    let mut ids: Vec<FunctionId> = profile.functions().ids().collect();
    ids.sort_by_key(|id| position(profile, *id));
    for id in ids {
        let name = profile.text(profile.functions().name[id.index()]).to_owned();
        groups.entry((name, place(profile, id))).or_default().push(id);
    }
    groups
}

/// The script, which the inspector reports as an address; or the binary's file name without its version, because two
/// releases of Node stand in different folders.
fn place(profile: &Profile, id: FunctionId) -> String {
    let function = profile.functions().row(id);
    if let Some(path) = profile.source_path(function.source) {
        return path.replacen("file://", "", 1);
    }
    let path = profile.module_name(function.module).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    if is_perf_map(name) {
        return "[JIT]".to_owned();
    }
    library_name(name)
}

/// `libuv.so.1.0.0` → `libuv.so`
fn library_name(name: &str) -> String {
    let ends = name.match_indices(".so").map(|(at, part)| at + part.len());
    let is_end = |at: &usize| {
        let next = name[*at..].chars().next();
        next.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '_')
    };
    ends.filter(is_end).map(|at| name[..at].to_owned()).next().unwrap_or_else(|| name.to_owned())
}

fn is_perf_map(name: &str) -> bool {
    let pid = name.strip_prefix("perf-").and_then(|rest| rest.strip_suffix(".map"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

fn position(profile: &Profile, id: FunctionId) -> (u32, u32) {
    let function = profile.functions().row(id);
    (function.line, function.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_the_same_in_every_version() {
        for (name, expected) in [
            ("libuv.so.1.0.0", "libuv.so"),
            ("libc.so", "libc.so"),
            ("node", "node"),
            ("a.sock", "a.sock"),
            ("x.something.so.6", "x.something.so"),
        ] {
            assert_eq!(library_name(name), expected);
        }
        assert!(
            is_perf_map("perf-41.map") && !is_perf_map("perf-.map") && !is_perf_map("perf-1x.map")
        );
    }
}

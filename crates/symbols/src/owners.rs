//! Whose perf maps and jitdumps are believed. They lie in folders where every user may write, under names that
//! every user can guess: another user's file could name any function. A file that the user names is the user's choice.

use std::collections::BTreeMap;

use crate::files::OpenFile;

/// The user id of root, as this machine numbers users.
const ROOT: u32 = 0;

/// Whose files are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    /// The users of processes, by pid.
    pub processes: BTreeMap<u32, Vec<u32>>,
    /// For all other processes; `None` where nothing is known that an owner could be compared with.
    pub others: Option<Vec<u32>>,
}

impl Default for Owners {
    /// Nothing is known of any process.
    fn default() -> Self {
        Self { processes: BTreeMap::new(), others: None }
    }
}

/// A file that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stranger {
    owner: u32,
    is_of_process: bool,
}

impl Owners {
    /// Where no process can be asked any more: the files of these users.
    pub fn of_users(users: impl IntoIterator<Item = u32>) -> Self {
        Self { processes: BTreeMap::new(), others: Some(users.into_iter().collect()) }
    }

    /// Adds users of a process, which may change its user.
    pub fn add(&mut self, pid: u32, users: &[u32]) {
        let known = self.processes.entry(pid).or_default();
        known.extend(users);
        known.sort_unstable();
        known.dedup();
    }

    /// Refuses a file of another user. Where a system does not report owners, every file is believed.
    pub(crate) fn check(&self, pid: Option<u32>, file: &dyn OpenFile) -> Result<(), Stranger> {
        let of_process =
            pid.and_then(|pid| self.processes.get(&pid)).filter(|users| !users.is_empty());
        let (Some(users), Some(owner)) = (of_process.or(self.others.as_ref()), file.owner()) else {
            return Ok(());
        };
        let is_believed = owner == ROOT || users.contains(&owner);
        if is_believed {
            Ok(())
        } else {
            Err(Stranger { owner, is_of_process: of_process.is_some() })
        }
    }

    /// Whether a process's own file is believed.
    pub fn believes(&self, pid: u32, file: &dyn OpenFile) -> bool {
        self.check(Some(pid), file).is_ok()
    }
}

impl Stranger {
    /// The reason why the file is refused, as a sentence without a full stop.
    pub(crate) fn sentence(self, file: &str) -> String {
        let Self { owner, is_of_process } = self;
        match is_of_process {
            true => format!(
                "{file} was left out: it belongs to user {owner}, neither root nor the user of the process"
            ),
            false => format!(
                "{file} was left out: it belongs to user {owner}, neither root nor you (--perf-map FILE:PID reads it anyway)"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read, Seek, SeekFrom};

    struct Owned(Option<u32>);

    impl Read for Owned {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Ok(0)
        }
    }

    impl Seek for Owned {
        fn seek(&mut self, _: SeekFrom) -> std::io::Result<u64> {
            Ok(0)
        }
    }

    impl OpenFile for Owned {
        fn owner(&self) -> Option<u32> {
            self.0
        }
    }

    #[test]
    fn only_root_and_the_users_of_a_process_are_believed() {
        let mut owners = Owners::of_users([1000]);
        owners.add(7, &[33, 100_000]);
        owners.add(7, &[34]);
        owners.add(8, &[]);
        let rows = [
            (Some(7), 33, true),
            (Some(7), 34, true),
            (Some(7), 100_000, true),
            (Some(7), 0, true),
            (Some(7), 1000, false),
            (Some(8), 1000, true),
            (Some(9), 33, false),
            (None, 1000, true),
            (None, 65534, false),
        ];
        for (pid, owner, believed) in rows {
            assert_eq!(owners.check(pid, &Owned(Some(owner))).is_ok(), believed, "{pid:?} {owner}");
        }
        assert!(
            owners.check(Some(7), &Owned(None)).is_ok()
                && owners.check(None, &Cursor::new([0])).is_ok()
        );
        assert!(Owners::default().check(Some(7), &Owned(Some(65534))).is_ok());
        let sentence = |pid| {
            owners
                .check(pid, &Owned(Some(65534)))
                .unwrap_err()
                .sentence("the perf map /tmp/perf-7.map")
        };
        assert_eq!(
            sentence(Some(7)),
            "the perf map /tmp/perf-7.map was left out: it belongs to user 65534, neither root nor the user of the process"
        );
        assert!(
            sentence(None).ends_with("neither root nor you (--perf-map FILE:PID reads it anyway)")
        );
    }
}

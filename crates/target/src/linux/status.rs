//! What the kernel shows of a process to every user: /proc/PID/status and /proc/PID/stat.

use std::collections::HashMap;

use crate::linux::limits::Capability;

/// From /proc/PID/status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// What it does: `S` sleeps, `T` is stopped, `Z` has ended.
    pub(crate) state: char,
    /// Real, effective and saved.
    pub(crate) uids: [u32; 3],
    /// The pid as the process itself knows it.
    pub(crate) inner_pid: u32,
    pub(crate) threads: u32,
    pub(crate) caught: u64,
    pub(crate) blocked: u64,
    pub(crate) ignored: u64,
    pub(crate) capabilities: u64,
    /// Whether a filter decides about its system calls.
    pub(crate) is_filtered: bool,
}

/// From /proc/PID/stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// CPU time, in ticks.
    pub(crate) ticks: u64,
    /// When it started, in ticks since the machine did.
    pub(crate) start_ticks: u64,
}

/// Linux shows every program a hundred ticks a second, whatever it uses inside.
pub(crate) const TICKS_A_SECOND: f64 = 100.0;

impl Status {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fields: HashMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key, value.trim()))
            .collect();
        let number = |key: &str| fields.get(key)?.parse().ok();
        let mask = |key: &str| fields.get(key).and_then(|mask| u64::from_str_radix(mask, 16).ok());
        let mut uids = fields.get("Uid")?.split_whitespace().map_while(|uid| uid.parse().ok());
        let pid = number("Pid")?;
        let inner =
            fields.get("NSpid").and_then(|pids| pids.split_whitespace().last()?.parse().ok());
        Some(Self {
            pid,
            parent: number("PPid")?,
            state: fields.get("State").and_then(|state| state.chars().next()).unwrap_or('S'),
            uids: [uids.next()?, uids.next()?, uids.next()?],
            inner_pid: inner.unwrap_or(pid),
            threads: number("Threads").unwrap_or(1),
            caught: mask("SigCgt").unwrap_or(0),
            blocked: mask("SigBlk").unwrap_or(0),
            ignored: mask("SigIgn").unwrap_or(0),
            capabilities: mask("CapEff").unwrap_or(0),
            is_filtered: fields.get("Seccomp").is_some_and(|mode| *mode == "2"),
        })
    }

    pub(crate) fn drop_capabilities(&mut self, capabilities: &[Capability]) {
        for capability in capabilities {
            self.capabilities &= !(1 << capability.bit());
        }
    }

    pub(crate) fn has_capability(&self, bit: u32) -> bool {
        self.capabilities & (1 << bit) != 0
    }
}

impl Stat {
    /// The name, in parentheses, may hold spaces and parentheses itself: fields count from behind the last one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse::<u64>().ok();
        Some(Self { ticks: field(14)?.checked_add(field(15)?)?, start_ticks: field(22)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_moves_no_field() {
        let text = "7 (a) S 1 (b) R 1 7 7 0 -1 0 0 0 0 0 40 2 0 0 20 0 11 0 999 0";
        assert_eq!(Stat::parse(text), Some(Stat { ticks: 42, start_ticks: 999 }));
        assert_eq!(Stat::parse("7 (node"), None);
        assert_eq!(Stat::parse("7 (node) S 1"), None);
    }

    #[test]
    fn status_knows_the_inner_pid() {
        let text = "Name:\tnode\nState:\tT (stopped)\nPid:\t21259\nPPid:\t3\nUid:\t1000\t1001\t1002\t1000\nNSpid:\t21259\t1\n\
                    Threads:\t11\nSigBlk:\t0000000000000200\nSigCgt:\t0000000108004a02\nCapEff:\t0000004000080000\nSeccomp:\t2\n";
        let status = Status::parse(text).unwrap();
        assert_eq!(
            (status.pid, status.inner_pid, status.parent, status.threads),
            (21259, 1, 3, 11)
        );
        assert_eq!(
            (status.uids, status.blocked, status.caught),
            ([1000, 1001, 1002], 0x200, 0x1_0800_4a02)
        );
        assert!(
            status.has_capability(38) && status.has_capability(19) && !status.has_capability(21)
        );
        assert!(status.is_filtered && status.state == 'T' && status.ignored == 0);
        assert_eq!(Status::parse("Pid:\t1\n"), None);
    }
}

//! How a process is built and where it lives, as far as this user may see: what its binary kept, which C library it
//! uses, whether its namespaces are ours. `doctor` asks, to explain why a recording shows less.

use std::os::unix::fs::MetadataExt;

use elf::{Elf, Parts};

use crate::linux::proc::{Proc, open_regular};
use crate::linux::status::Status;

/// The answers; `None` where this user may not look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether its binary has a full table of symbols.
    pub has_symbols: Option<bool>,
    /// Whether it uses musl, as on Alpine.
    pub is_musl: Option<bool>,
    /// Whether it sees the same processes as we do.
    pub shares_pids: Option<bool>,
    /// Whether its users are our users.
    pub shares_users: Option<bool>,
    /// Whether the kernel hides it even from its own user: its binary has capabilities, or it changed its user.
    pub is_hidden_from_owner: Option<bool>,
}

impl Surroundings {
    /// Looks at a process.
    pub fn read(proc: &Proc, pid: u32) -> Self {
        let shares = |name: &str| Some(proc.link_of(pid, name).ok()? == proc.own_link(name).ok()?);
        let status = proc.text_of(pid, "status").ok().and_then(|text| Status::parse(&text));
        // The kernel gives the files of such a process to root.
        let owner = std::fs::metadata(proc.path(pid, "environ")).ok().map(|meta| meta.uid());
        let is_hidden = status.zip(owner).map(|(status, owner)| owner == 0 && status.uids[1] != 0);
        let (has_symbols, is_musl) = of_binary(proc, pid).unzip();
        Self {
            has_symbols,
            is_musl,
            shares_pids: shares("ns/pid"),
            shares_users: shares("ns/user"),
            is_hidden_from_owner: is_hidden,
        }
    }
}

fn of_binary(proc: &Proc, pid: u32) -> Option<(bool, bool)> {
    let parts = Parts::new(open_regular(&proc.path(pid, "exe")).ok()?).ok()?;
    let elf = Elf::parse(&parts).ok()?;
    let is_musl =
        elf.interpreter().is_some_and(|path| memchr::memmem::find(path, b"ld-musl").is_some());
    Some((elf.has_symbols(), is_musl))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_see_ourselves() {
        let here = Surroundings::read(&Proc::default(), std::process::id());
        assert_eq!((here.shares_pids, here.shares_users), (Some(true), Some(true)));
        assert_eq!(here.is_hidden_from_owner, Some(false));
        assert_eq!(here.has_symbols, Some(true), "a test is not stripped");
        assert_eq!(here.is_musl, Some(cfg!(target_env = "musl")));
    }

    #[test]
    fn no_process_is_there() {
        assert_eq!(Surroundings::read(&Proc::default(), u32::MAX), Surroundings::default());
    }
}

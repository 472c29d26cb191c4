//! The users whose perf maps and jitdumps are believed: those of a process, from what the kernel reports of it; where
//! it is over, the user who reads.

use std::fs;

use symbols::Owners;

/// The users to believe where nothing is known of a process: our own, and the one who called us with sudo.
pub fn default_owners() -> Owners {
    let sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    match sys::users::effective() {
        Some(own) => Owners::of_users([own].into_iter().chain(sudo)),
        None => Owners::default(),
    }
}

/// The users of a process that runs, as this machine numbers them: what it is and was started as, and root of its own
/// user namespace. Empty where the kernel does not report them.
pub fn of_process(pid: u32) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let mut users: Vec<u32> = line.split_whitespace().filter_map(|uid| uid.parse().ok()).collect();
    if !users.is_empty() {
        let map = fs::read_to_string(format!("/proc/{pid}/uid_map")).unwrap_or_default();
        users.extend(namespace_root(&map));
    }
    users.sort_unstable();
    users.dedup();
    users
}

/// The user that root of a user namespace is outside of it, from lines of first inside, first outside, how many.
fn namespace_root(uid_map: &str) -> Option<u32> {
    let mut lines =
        uid_map.lines().map(|line| line.split_whitespace().map_while(|number| number.parse().ok()));
    lines.find_map(|mut numbers| (numbers.next() == Some(0u32)).then(|| numbers.next()).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_a_namespace() {
        assert_eq!(namespace_root("         0          0 4294967295\n"), Some(0));
        assert_eq!(namespace_root("1 5 1\n0 100000 65536\n"), Some(100_000));
        assert_eq!(
            [namespace_root(""), namespace_root("1000 1000 1"), namespace_root("0")],
            [None; 3]
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_users() {
        let users = of_process(std::process::id());
        assert!(sys::users::effective().is_some_and(|own| users.contains(&own)), "{users:?}");
        assert!(of_process(u32::MAX).is_empty());
    }
}

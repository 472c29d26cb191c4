//! Where we run inside of the target's own container, our memory counts against its limit, and the kernel may end the
//! whole container for it. So we make the kernel kill us first, and do not begin where there is too little room.

use std::fs;
use std::path::{Path, PathBuf};

/// What a recording takes at most, mostly in the end, when names are looked up.
const NEEDED: u64 = 48 << 20;
/// nodescope may take one part in this many of what is left.
const SHARE: u64 = 4;

/// The oom_score_adj of the process that the kernel kills first.
const FIRST_TO_GO: &str = "1000";

/// Too little is left before the memory limit of the target, which counts for us, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLittleRoom {
    /// What is left.
    pub left_bytes: u64,
}

/// Makes sure that a target that shares its limits with us is not ended for our memory. Returns how many bytes of the
/// recording may stay in memory; `None` where nothing limits them.
pub fn leave_room(pids: &[u32]) -> Result<Option<u64>, TooLittleRoom> {
    let group = |process: &str| fs::read_to_string(format!("/proc/{process}/cgroup")).ok();
    let Some(own) = group("self") else { return Ok(None) };
    if !pids.iter().any(|pid| group(&pid.to_string()).as_ref() == Some(&own)) {
        return Ok(None);
    }
    // It protects the target; nothing depends on it.
    let _ = fs::write("/proc/self/oom_score_adj", FIRST_TO_GO);
    match room(Path::new("/sys/fs/cgroup"), &own) {
        Some(left_bytes) if left_bytes / SHARE < NEEDED => Err(TooLittleRoom { left_bytes }),
        room => Ok(room.map(|left_bytes| left_bytes / SHARE - NEEDED)),
    }
}

/// What is left before the limit of a group, where it has one. Cached files give way.
fn room(mounted: &Path, group: &str) -> Option<u64> {
    let (folder, files) = folder(mounted, group)?;
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
    let statistics = read("memory.stat").unwrap_or_default();
    let cached = statistics
        .lines()
        .find_map(|line| line.strip_prefix(files.cached)?.trim().parse::<u64>().ok());
    let used = number(files.used)?.saturating_sub(cached.unwrap_or(0));
    // "max" is no number, and the first version of groups writes a very large one.
    let limit = number(files.limit).filter(|limit| *limit < 1 << 60)?;
    Some(limit.saturating_sub(used))
}

/// The names of files in the two versions of groups.
struct Files {
    limit: &'static str,
    used: &'static str,
    cached: &'static str,
}

const SECOND: Files =
    Files { limit: "memory.max", used: "memory.current", cached: "inactive_file " };
const FIRST: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: "total_inactive_file ",
};

fn folder(mounted: &Path, group: &str) -> Option<(PathBuf, Files)> {
    let path =
        |line: &str| line.splitn(3, ':').nth(2).map(|path| path.trim_start_matches('/').to_owned());
    let first = group.lines().find(|line| {
        line.split(':').nth(1).is_some_and(|kinds| kinds.split(',').any(|kind| kind == "memory"))
    });
    let (base, line, files) = match first {
        Some(line) => (mounted.join("memory"), line, FIRST),
        None => (mounted.to_owned(), group.lines().find(|line| line.starts_with("0::"))?, SECOND),
    };
    // Inside of a container its own group is the root of what it sees.
    let found = base.join(path(line)?);
    Some((if found.is_dir() { found } else { base }, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!(
            "nodescope-cgroup-{}-{}",
            std::process::id(),
            files.len()
        ));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        root
    }

    #[test]
    fn what_is_left() {
        let second = made_up(&[
            ("a/memory.max", "268435456\n"),
            ("a/memory.current", "200000000\n"),
            ("a/memory.stat", "anon 1\ninactive_file 100000000\n"),
        ]);
        assert_eq!(room(&second, "0::/a\n"), Some(168_435_456));
        assert_eq!(room(&second, "0::/not-here\n"), None);
        let first = made_up(&[
            ("memory/memory.limit_in_bytes", "1000"),
            ("memory/memory.usage_in_bytes", "400"),
        ]);
        assert_eq!(room(&first, "3:cpu:/x\n2:memory,x:/docker/12\n0::/\n"), Some(600));
        let none = made_up(&[("memory.max", "max")]);
        assert_eq!(room(&none, "0::/"), None);
        assert_eq!(room(&none, ""), None);
        for root in [first, second, none] {
            fs::remove_dir_all(root).expect("it is there");
        }
    }
}

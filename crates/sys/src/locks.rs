//! Locks of whole files: they end with the file's last descriptor or handle, so a program that was killed leaves none.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::try_lock;
#[cfg(windows)]
pub use windows::try_lock;

#[cfg(test)]
mod tests {
    use super::try_lock;
    use std::fs::{self, File};
    use std::io::Write;
    use std::time::{Duration, Instant};

    #[test]
    fn one_holder_at_a_time_and_all_may_read() {
        let path = std::env::temp_dir().join(format!("nodescope-locks-{}", std::process::id()));
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let mut first = File::create_new(&path).unwrap();
        assert!(try_lock(&first).unwrap());
        assert!(!try_lock(&open()).unwrap());
        first.write_all(b"what was recorded").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"what was recorded");
        drop(first);
        // A program that another test starts holds the descriptor, too, until it is executed.
        let begin = Instant::now();
        while !try_lock(&open()).unwrap() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it stays locked");
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::remove_file(&path).unwrap();
    }
}

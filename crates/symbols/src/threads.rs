//! The threads of a recording, by name: a changed name opens a new row, so that a worker that was renamed is
//! not mistaken for what it was.

use rustc_hash::FxHashMap;

/// A thread under one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedThread {
    pub(crate) pid: Option<u32>,
    pub(crate) tid: Option<u32>,
    pub(crate) name: Vec<u8>,
}

/// What the thread of a process is at the moment.
#[derive(Clone, Copy)]
pub(crate) struct Current {
    /// Its row under its name.
    pub(crate) row: u32,
    /// Its place among all threads, whatever their names.
    pub(crate) slot: u32,
}

/// All threads.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) rows: Vec<NamedThread>,
    index: FxHashMap<NamedThread, u32>,
    current: FxHashMap<Key, Current>,
    last: Option<(Key, Current)>,
}

type Key = (Option<u32>, Option<u32>);

impl Threads {
    /// The thread that is meant, under its name so far.
    pub(crate) fn current(&mut self, pid: Option<u32>, tid: Option<u32>) -> Current {
        let key = (pid, tid);
        if let Some((_, current)) = self.last.filter(|(last, _)| *last == key) {
            return current;
        }
        let current = match self.current.get(&key) {
            Some(current) => *current,
            None => self.rename(key, nameless(pid, tid)),
        };
        self.last = Some((key, current));
        current
    }

    pub(crate) fn name(&mut self, pid: u32, tid: u32, name: &[u8]) {
        self.rename((Some(pid), Some(tid)), name.to_vec());
    }

    /// A new thread is called as the one that began it.
    pub(crate) fn fork(&mut self, child: (u32, u32), parent: (u32, u32)) {
        let parent = (Some(parent.0), Some(parent.1));
        let known = self.current.get(&parent).map(|parent| self.rows[parent.row as usize].name.clone());
        let child = (Some(child.0), Some(child.1));
        self.rename(child, known.unwrap_or_else(|| nameless(child.0, child.1)));
    }

    fn rename(&mut self, key: Key, name: Vec<u8>) -> Current {
        let thread = NamedThread { pid: key.0, tid: key.1, name };
        let rows = &mut self.rows;
        let row = *self.index.entry(thread).or_insert_with_key(|thread| {
            rows.push(thread.clone());
            (rows.len() - 1) as u32
        });
        let slots = self.current.len() as u32;
        let current = self.current.entry(key).or_insert(Current { row, slot: slots });
        current.row = row;
        self.last = None;
        *current
    }
}

/// What perf calls a thread whose name the recording does not tell.
fn nameless(pid: Option<u32>, tid: Option<u32>) -> Vec<u8> {
    match (pid, tid) {
        (Some(0), Some(0)) => b"swapper".to_vec(),
        (_, Some(tid)) => format!(":{tid}").into_bytes(),
        (_, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_is_a_new_row_and_an_old_one_the_old() {
        let mut threads = Threads::default();
        assert_eq!(threads.current(Some(1), Some(2)).row, 0);
        threads.name(1, 2, b"node");
        let node = threads.current(Some(1), Some(2));
        threads.name(1, 2, b"worker");
        let worker = threads.current(Some(1), Some(2));
        threads.name(1, 2, b"node");
        assert_eq!((node.row, worker.row, threads.current(Some(1), Some(2)).row), (1, 2, 1));
        assert_eq!((node.slot, worker.slot), (0, 0));
        assert_eq!(threads.rows[0].name, b":2");
    }

    #[test]
    fn a_child_is_called_as_its_parent() {
        let mut threads = Threads::default();
        threads.name(1, 1, b"node");
        threads.fork((1, 5), (1, 1));
        let child = threads.current(Some(1), Some(5));
        assert_eq!(threads.rows[child.row as usize].name, b"node");
        threads.fork((9, 9), (8, 8));
        let orphan = threads.current(Some(9), Some(9));
        assert_eq!(threads.rows[orphan.row as usize].name, b":9");
        assert_eq!(threads.current(None, None).slot, 3);
    }
}

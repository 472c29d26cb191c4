//! The threads of a recording, by name. In perf's recordings a changed name opens a new row, because folded stacks
//! start with the name of the moment. In our own a thread is one row, under its last name: `process.title` may change
//! at any time, and names nothing new. A new program (`exec`) is a new row in both.

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
    /// How often each thread began or became another program, and in which of these lives each row was made.
    lives: FxHashMap<Key, u32>,
    life_of_row: Vec<u32>,
    /// The rows that were made in each life, and its last one.
    rows_of_life: FxHashMap<(Key, u32), (Vec<u32>, u32)>,
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

    /// Whether anything was recorded of a thread.
    pub(crate) fn is_known(&self, pid: Option<u32>, tid: Option<u32>) -> bool {
        self.current.contains_key(&(pid, tid))
    }

    pub(crate) fn name(&mut self, pid: u32, tid: u32, name: &[u8], exec: bool) {
        let key = (Some(pid), Some(tid));
        if exec {
            self.begin_life(key);
        }
        self.rename(key, name.to_vec());
    }

    /// All rows of the thread that a row belongs to, as long as it ran one program; its last name comes last.
    pub(crate) fn rows_of_life(&self, row: u32) -> Vec<u32> {
        let life = self.rows.get(row as usize).zip(self.life_of_row.get(row as usize));
        let life = life.map(|(NamedThread { pid, tid, .. }, life)| ((*pid, *tid), *life));
        let Some((rows, last)) = life.and_then(|life| self.rows_of_life.get(&life)) else {
            return vec![row];
        };
        rows.iter().filter(|row| *row != last).chain([last]).copied().collect()
    }

    fn begin_life(&mut self, key: Key) {
        let life = self.lives.entry(key).or_default();
        *life = life.wrapping_add(1);
    }

    /// A new thread is called as the one that began it.
    pub(crate) fn fork(&mut self, child: (u32, u32), parent: (u32, u32)) {
        let parent = (Some(parent.0), Some(parent.1));
        let known =
            self.current.get(&parent).map(|parent| self.rows[parent.row as usize].name.clone());
        let child = (Some(child.0), Some(child.1));
        self.begin_life(child);
        self.rename(child, known.unwrap_or_else(|| nameless(child.0, child.1)));
    }

    fn rename(&mut self, key: Key, name: Vec<u8>) -> Current {
        let thread = NamedThread { pid: key.0, tid: key.1, name };
        let life = self.lives.get(&key).copied().unwrap_or(0);
        let (rows, lives, new_row) =
            (&mut self.rows, &mut self.life_of_row, self.index.len() as u32);
        let row = *self.index.entry(thread).or_insert_with_key(|thread| {
            rows.push(thread.clone());
            lives.push(life);
            new_row
        });
        let (made, last) = self.rows_of_life.entry((key, life)).or_default();
        made.extend((row == new_row).then_some(row));
        *last = row;
        let slots = self.current.len() as u32;
        let current = self.current.entry(key).or_insert(Current { row, slot: slots });
        current.row = row;
        self.last = None;
        *current
    }
}

/// What perf calls a thread whose name the recording does not have.
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
        threads.name(1, 2, b"node", false);
        let node = threads.current(Some(1), Some(2));
        threads.name(1, 2, b"worker", false);
        let worker = threads.current(Some(1), Some(2));
        threads.name(1, 2, b"node", false);
        assert_eq!((node.row, worker.row, threads.current(Some(1), Some(2)).row), (1, 2, 1));
        assert_eq!((node.slot, worker.slot), (0, 0));
        assert_eq!(threads.rows[0].name, b":2");
    }

    #[test]
    fn a_child_is_called_as_its_parent() {
        let mut threads = Threads::default();
        threads.name(1, 1, b"node", false);
        threads.fork((1, 5), (1, 1));
        let child = threads.current(Some(1), Some(5));
        assert_eq!(threads.rows[child.row as usize].name, b"node");
        threads.fork((9, 9), (8, 8));
        let orphan = threads.current(Some(9), Some(9));
        assert_eq!(threads.rows[orphan.row as usize].name, b":9");
        assert_eq!(threads.current(None, None).slot, 3);
    }
    #[test]
    fn a_life_has_all_names_and_the_last_one_last() {
        let mut threads = Threads::default();
        threads.fork((9, 9), (1, 1));
        threads.name(9, 9, b"node", true);
        let node = threads.current(Some(9), Some(9)).row;
        threads.name(9, 9, b"shop", false);
        threads.name(9, 9, b"shop: busy", false);
        let busy = threads.current(Some(9), Some(9)).row;
        threads.name(9, 9, b"shop", false);
        let shop = threads.current(Some(9), Some(9)).row;
        for row in [node, shop, busy] {
            assert_eq!(threads.rows_of_life(row), [node, busy, shop]);
        }
        // Before it was Node it was another program.
        assert_eq!(threads.rows_of_life(0), [0]);
        threads.name(9, 9, b"other", true);
        let other = threads.current(Some(9), Some(9)).row;
        assert_eq!(threads.rows_of_life(other), [other]);
        assert_eq!(threads.rows_of_life(77), [77]);
    }
}

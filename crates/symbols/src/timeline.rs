//! Which generated code stood where, as time goes on: V8 moves code and gives its place to other code, so an
//! address means what stood there when it was seen. Samples come in the order of their times, so the present
//! is all that has to be kept.

use crate::maps::Maps;
use crate::places::PlaceId;

/// Something that happened to code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeEvent {
    pub(crate) time_ns: u64,
    pub(crate) change: CodeChange,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CodeChange {
    /// Code of a name (row of the codes) appeared.
    Load { start: u64, size: u64, code: u32 },
    /// Code appeared that has no name here.
    Unknown { start: u64, size: u64 },
    /// Code went elsewhere.
    Move { from: u64, to: u64, size: u64 },
}

/// What waits for the samples of a process, which may never come, and what is kept: a map can have anything in it.
const MOST_WAITING: usize = 1 << 20;
const MOST_PRESENT: usize = 1 << 21;

/// The code of one process at the moment.
#[derive(Default)]
pub(crate) struct Timeline {
    /// By time, those that are still to come from `next` on.
    events: Vec<CodeEvent>,
    next: usize,
    /// Rows of the codes, not of the places: few of them are ever needed as places.
    present: Maps,
    /// Whether changes are reported while they happen.
    pub(crate) is_live: bool,
}

impl Timeline {
    pub(crate) fn new(events: Vec<CodeEvent>) -> Self {
        Self { events, ..Self::default() }
    }

    /// Adds what happened later than all that is known.
    pub(crate) fn push(&mut self, event: CodeEvent) {
        // What has gone is not needed again.
        if self.next == self.events.len() {
            self.events.clear();
            self.next = 0;
        }
        self.is_live = true;
        if self.events.len() < MOST_WAITING {
            self.events.push(event);
        }
    }

    /// Goes on to a time. Returns whether anything changed.
    pub(crate) fn advance(&mut self, time_ns: u64) -> bool {
        let before = self.next;
        while let Some(event) = self.events.get(self.next).filter(|event| event.time_ns <= time_ns)
        {
            match event.change {
                CodeChange::Unknown { start, size } => {
                    self.present.remove(start, start.saturating_add(size));
                }
                CodeChange::Load { start, size, code } if self.present.len() < MOST_PRESENT => {
                    self.present.insert(start, start.saturating_add(size), PlaceId(code));
                }
                CodeChange::Load { start, size, .. } => {
                    self.present.remove(start, start.saturating_add(size));
                }
                CodeChange::Move { from, to, size } => {
                    if let Some(place) = self.present.find(from) {
                        self.present.remove(from, from.saturating_add(size));
                        self.present.insert(to, to.saturating_add(size), place);
                    }
                }
            }
            self.next += 1;
        }
        self.next > before
    }

    /// The code at an address, as a row of the codes.
    pub(crate) fn find(&self, address: u64) -> Option<u32> {
        self.present.find(address).map(|place| place.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_means_what_stood_there_at_the_time() {
        let load = |time_ns, start, place| CodeEvent {
            time_ns,
            change: CodeChange::Load { start, size: 16, code: place },
        };
        let moved =
            CodeEvent { time_ns: 30, change: CodeChange::Move { from: 100, to: 200, size: 16 } };
        let mut timeline =
            Timeline::new(vec![load(10, 100, 1), load(20, 108, 2), moved, load(40, 100, 3)]);
        let mut at = |time| {
            timeline.advance(time);
            [100, 107, 108, 200].map(|address| timeline.find(address))
        };
        assert_eq!(at(9), [None; 4]);
        assert_eq!(at(10), [Some(1), Some(1), Some(1), None]);
        assert_eq!(at(29), [Some(1), Some(1), Some(2), None]);
        assert_eq!(at(30), [None, None, None, Some(1)]);
        assert_eq!(at(u64::MAX), [Some(3), Some(3), Some(3), Some(1)]);
    }
}

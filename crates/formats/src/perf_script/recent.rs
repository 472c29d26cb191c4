//! The last few kinds of first lines: what stands before the time (comm, ids, cpu) and behind it (period,
//! event) repeats from sample to sample, so a comparison replaces most of the parsing.

use super::header;
use super::rows::RawSample;

/// Threads times CPUs that are busy at one time, as a rule.
const MOST: usize = 16;

#[derive(Default)]
pub(super) struct RecentHeaders {
    rows: Vec<Recent>,
    next: usize,
}

struct Recent {
    before_time: Vec<u8>,
    behind_time: Vec<u8>,
    sample: RawSample,
}

impl RecentHeaders {
    /// The sample that a line opens, when its kind was seen before.
    pub(super) fn find(&mut self, line: &[u8]) -> Option<RawSample> {
        self.rows.iter().find_map(|recent| {
            let (time_ns, behind) = header::split_known(line, &recent.before_time)?;
            (behind == recent.behind_time).then_some(RawSample { time_ns, ..recent.sample })
        })
    }

    /// Remembers a line with a time and nothing behind its event, in place of the oldest.
    pub(super) fn remember(&mut self, line: &[u8], sample: &RawSample) {
        let Some((start, end)) = header::place_of_time(line) else { return };
        let recent = Recent {
            before_time: line[..start].to_vec(),
            behind_time: line[end..].to_vec(),
            sample: *sample,
        };
        match self.rows.get_mut(self.next) {
            Some(row) => *row = recent,
            None => self.rows.push(recent),
        }
        self.next = (self.next + 1) % MOST;
    }
}

//! Times that lie far outside of all others: a thread on another clock, a record without a time. They would stretch
//! a recording of seconds to days. Such samples are moved to the nearest of the other times, and that is reported.

use super::Builder;
use crate::ids::ThreadId;

/// Times that are closer than this belong together.
const LONG_GAP_NS: u64 = 3600 * SECOND_NS;
/// A gap that is this many times as long as the others is no pause of theirs.
const FAR: u64 = 100;
const SECOND_NS: u64 = 1_000_000_000;

/// Whether a gap is too long to belong to a recording of that length.
pub fn is_far(gap_ns: u64, length_ns: u64) -> bool {
    gap_ns >= LONG_GAP_NS && gap_ns / FAR >= length_ns.max(SECOND_NS)
}

/// The first and the last time of the main part of ascending times, where others lie far outside of it. The main part
/// is the one with most of the samples between two long gaps, and what is not far from it.
fn main_span(sorted_ns: &[u64]) -> Option<(u64, u64)> {
    let (first, last) = (sorted_ns.first()?, sorted_ns.last()?);
    if last - first < LONG_GAP_NS {
        return None;
    }
    let parts: Vec<&[u64]> = sorted_ns.chunk_by(|one, next| next - one < LONG_GAP_NS).collect();
    let main = (0..parts.len()).rev().max_by_key(|row| parts[*row].len())?;
    if parts[main].len() * 2 <= sorted_ns.len() {
        return None;
    }
    let (mut start_ns, mut end_ns) = ends(parts[main])?;
    let (mut before, mut after) = (parts[..main].to_vec(), parts[main + 1..].to_vec());
    after.reverse();
    loop {
        let length_ns = end_ns - start_ns;
        let earlier = before.last().and_then(|part| ends(part));
        let later = after.last().and_then(|part| ends(part));
        if let Some((start, _)) = earlier.filter(|(_, end)| !is_far(start_ns - end, length_ns)) {
            start_ns = start;
            before.pop();
        } else if let Some((_, end)) = later.filter(|(start, _)| !is_far(start - end_ns, length_ns))
        {
            end_ns = end;
            after.pop();
        } else {
            break;
        }
    }
    (start_ns > *first || end_ns < *last).then_some((start_ns, end_ns))
}

fn ends(part: &[u64]) -> Option<(u64, u64)> {
    Some((*part.first()?, *part.last()?))
}

impl Builder {
    /// Moves samples whose times lie far outside of the others to the nearest of these, with all markers there, and
    /// reports that among the losses. Returns the first and the last time of the others, where any was moved.
    pub fn clip_far_times(&mut self) -> Option<(u64, u64)> {
        self.clip(|_| true)
    }

    /// The same for threads that have no sample among the others: where a sample lasts until the next one, a long gap
    /// within a thread is a long sample.
    pub fn clip_far_threads(&mut self) -> Option<(u64, u64)> {
        let (start_ns, end_ns) = main_span(&self.sorted_times()?)?;
        let mut is_inside = vec![false; self.profile.threads.len()];
        for lane in self.profile.lanes.iter().filter(|lane| lane.timed) {
            for (time_ns, thread) in lane.samples.time_ns.iter().zip(&lane.samples.thread) {
                is_inside[thread.index()] |= (start_ns..=end_ns).contains(time_ns);
            }
        }
        self.clip(|thread| !is_inside[thread.index()])
    }

    /// All times of samples, if they are not close together anyway.
    fn sorted_times(&self) -> Option<Vec<u64>> {
        let lanes = self.profile.lanes.iter().filter(|lane| lane.timed);
        let mut times_ns: Vec<u64> =
            lanes.flat_map(|lane| lane.samples.time_ns.iter().copied()).collect();
        let (first, last) = (times_ns.iter().min()?, times_ns.iter().max()?);
        if last - first < LONG_GAP_NS {
            return None;
        }
        times_ns.sort_unstable();
        Some(times_ns)
    }

    fn clip(&mut self, is_doubtful: impl Fn(ThreadId) -> bool) -> Option<(u64, u64)> {
        let times_ns = self.sorted_times()?;
        let (start_ns, end_ns) = main_span(&times_ns)?;
        let (mut moved, mut furthest_ns) = (0u64, 0);
        for lane in self.profile.lanes.iter_mut().filter(|lane| lane.timed) {
            for (time_ns, thread) in lane.samples.time_ns.iter_mut().zip(&lane.samples.thread) {
                let near_ns = (*time_ns).clamp(start_ns, end_ns);
                if near_ns != *time_ns && is_doubtful(*thread) {
                    furthest_ns = furthest_ns.max(near_ns.abs_diff(*time_ns));
                    moved += 1;
                    *time_ns = near_ns;
                }
            }
        }
        if moved == 0 {
            return None;
        }
        let markers = &mut self.profile.markers;
        let off_cpu = &mut self.profile.off_cpu.start_ns;
        for time_ns in markers.start_ns.iter_mut().chain(&mut markers.end_ns).chain(off_cpu) {
            *time_ns = (*time_ns).clamp(start_ns, end_ns);
        }
        let (all, far) = (times_ns.len(), furthest_ns / SECOND_NS);
        self.meta().losses.damage.push(format!(
            "the times of {moved} of {all} samples lie up to {far} s from all others: they are shown at the nearest of these"
        ));
        Some((start_ns, end_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(times: &[u64]) -> Option<(u64, u64)> {
        let times: Vec<u64> = times.iter().map(|time| time * SECOND_NS).collect();
        main_span(&times).map(|(start, end)| (start / SECOND_NS, end / SECOND_NS))
    }

    #[test]
    fn what_is_far_outside_is_no_part_of_a_recording() {
        assert_eq!(seconds(&[0, 428_550, 428_560, 428_580]), Some((428_550, 428_580)));
        assert_eq!(seconds(&[10, 20, 30, 428_580, 900_000]), Some((10, 30)));
        assert_eq!(seconds(&[1, 500_000, 500_001, 500_002, 1_000_000]), Some((500_000, 500_002)));
    }

    #[test]
    fn long_pauses_are_no_damage() {
        assert_eq!(seconds(&[]), None);
        assert_eq!(seconds(&[5]), None);
        assert_eq!(seconds(&[0, 10, 3000, 6000]), None, "less than an hour between two");
        let with_a_night: Vec<u64> = (0..600).chain(30_000..30_600).collect();
        assert_eq!(seconds(&with_a_night), None, "ten minutes before a night, and ten after it");
        let hourly: Vec<u64> = (0..100).map(|hour| hour * 4000).collect();
        assert_eq!(seconds(&hourly), None, "single samples, more than an hour from each other");
        assert_eq!(seconds(&[0, 428_580]), None, "either of the two may be right");
        assert!(!is_far(u64::MAX, u64::MAX) && is_far(u64::MAX, 0) && !is_far(3599 * SECOND_NS, 0));
    }
}

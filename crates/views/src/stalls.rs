//! How event loops turned. A stall is one turn that took long, without waiting: nothing else on that loop was served
//! meanwhile.

use profile::{MarkerKind, Profile, RowId, ThreadId};

use crate::Selection;

/// A turn shorter than this is nobody's trouble.
const SHORTEST_STALL_NS: u64 = 50_000_000;

/// One long turn of an event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The loop's thread.
    pub thread: ThreadId,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// What is known of the event loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Whether any loop was watched: without that, no stall means nothing.
    pub watched: bool,
    /// The long turns, the longest first.
    pub stalls: Vec<Stall>,
}

/// The long turns that the selection's range and threads show.
pub fn turns(profile: &Profile, selection: &Selection) -> Turns {
    let markers = profile.markers();
    let selected = selection.selected_threads(profile);
    let mut turns = Turns::default();
    for row in markers.ids().map(|id: RowId| markers.row(id)) {
        let range = selection.range_ns.clone().unwrap_or(0..u64::MAX);
        let is_shown = selected[row.thread.index()] && row.start_ns < range.end && row.end_ns > range.start;
        if row.kind != MarkerKind::LoopTurn || !is_shown {
            continue;
        }
        turns.watched = true;
        if row.text.some().is_none() && row.end_ns - row.start_ns >= SHORTEST_STALL_NS {
            turns.stalls.push(Stall { thread: row.thread, start_ns: row.start_ns, end_ns: row.end_ns });
        }
    }
    turns.stalls.sort_by_key(|stall| (std::cmp::Reverse(stall.end_ns - stall.start_ns), stall.start_ns));
    turns
}

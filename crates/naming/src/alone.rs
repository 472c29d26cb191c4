//! Frames that are new in a recording which grows, on their own: as a small profile they can get what they were made
//! from (source maps), before they become rows of the recording.

use profile::{Builder, FrameId, LaneInfo, Profile, Sample, StackId, ThreadId, Unit};
use rustc_hash::FxHashMap;

use crate::add;

/// A profile of the frames that a builder has, with a sample for each one, in that order: its thread identifies the
/// process.
pub fn one_by_one(
    mut piece: Builder,
    format: &str,
    frames: impl IntoIterator<Item = (FrameId, Option<u32>)>,
) -> Profile {
    piece.meta().format = format.to_owned();
    let lane =
        piece.lane(LaneInfo { name: "frames", unit: Unit::Count, timed: true, counted: true });
    let mut threads: FxHashMap<Option<u32>, ThreadId> = FxHashMap::default();
    for (at, (frame, pid)) in frames.into_iter().enumerate() {
        let thread = *threads.entry(pid).or_insert_with(|| add::thread(&mut piece, pid, None, ""));
        let stack = piece.stack(StackId::NONE, frame);
        piece.sample(lane, Sample { time_ns: at as u64, thread, stack, weight: 1 });
    }
    piece.set_origin_ns(0);
    piece.finish()
}

/// Adds such a profile; the row of each of its samples' frames.
pub fn append(builder: &mut Builder, piece: &Profile) -> Vec<FrameId> {
    let frames = builder.append_frames(piece);
    let meta = builder.meta();
    meta.lines_are_checked |= piece.meta().lines_are_checked;
    let known = &mut meta.losses.damage;
    let new = piece.meta().losses.damage.iter().filter(|sentence| !known.contains(sentence));
    let new: Vec<String> = new.cloned().collect();
    known.extend(new);
    let stacks =
        piece.lanes().first().map(|lane| lane.samples.stack.as_slice()).unwrap_or_default();
    stacks.iter().map(|stack| frames[piece.stacks().frame[stack.index()].index()]).collect()
}

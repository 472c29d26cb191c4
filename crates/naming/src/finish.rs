//! What every importer of named stacks does at the end: find out what each thread is for from what it ran, settle the
//! clock, and count the frames that have no name.

use profile::{Builder, Profile, Unit};

pub use crate::quality::{WITHOUT_MAP, settle_quality, settle_quality_with};
use crate::roles::Roles;

/// Gives threads that their names do not explain a role, from what they ran.
pub fn infer_roles(builder: &mut Builder) {
    Roles::default().infer(builder);
}

/// The clock at time 0, and the interval of a sampling by time.
pub fn settle_clock(builder: &mut Builder) {
    let lanes = builder.so_far().lanes();
    let start_clock_s = first_ns(builder.so_far()).map(|ns| ns as f64 / 1e9);
    let main = lanes.first().filter(|lane| lane.unit == Unit::Ns);
    let interval_ns = main.and_then(|lane| median(&lane.samples.weight));
    builder.meta().start_clock_s = start_clock_s;
    builder.meta().interval_ns = interval_ns;
}

/// The time that becomes 0: that of the first sample, marker, time off the CPU or look at an event loop.
pub fn first_ns(profile: &Profile) -> Option<u64> {
    let lanes = profile.lanes().iter().filter(|lane| lane.timed);
    let samples = lanes.filter_map(|lane| lane.samples.time_ns.iter().min());
    let spans = [
        &profile.markers().start_ns,
        &profile.off_cpu().start_ns,
        &profile.loops().start_ns,
        &profile.long_turns().start_ns,
        &profile.seconds().start_ns,
    ];
    samples.chain(spans.into_iter().filter_map(|starts| starts.iter().min())).min().copied()
}

fn median(weights: &[u64]) -> Option<u64> {
    let mut weights = weights.to_vec();
    let middle = weights.len() / 2;
    (!weights.is_empty()).then(|| *weights.select_nth_unstable(middle).1)
}

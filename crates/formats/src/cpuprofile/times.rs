//! When each sample was taken and how long it stands. Everything is in nanoseconds on the profiler's clock.

use super::raw::RawProfile;

/// Later than this (146 years in ns) is no time.
const LATEST_NS: f64 = 4.6e18;
const NS_PER_US: f64 = 1e3;

/// The times of a profile's samples, in the order of the file.
#[derive(Debug, PartialEq)]
pub(super) struct Times {
    pub(super) samples_ns: Vec<u64>,
    /// When profiling began: the first sample comes later.
    pub(super) start_ns: u64,
    /// When it ended.
    pub(super) end_ns: Option<u64>,
}

/// The times, where the profile has any.
pub(super) fn times(raw: &RawProfile<'_>) -> Option<Times> {
    if !raw.time_deltas.is_empty() {
        return Some(from_deltas(raw));
    }
    (!raw.timestamps.is_empty()).then(|| from_timestamps(raw))
}

/// The first delta counts from the start; some go backwards.
fn from_deltas(raw: &RawProfile<'_>) -> Times {
    let measured_us: f64 = raw.time_deltas.iter().filter(|delta| delta.is_finite()).sum();
    let scale = scale_of_bounds(raw, measured_us);
    let start = raw.start.unwrap_or(0.0);
    let mut now_ns = ns(start, scale) as i64;
    let mut add = |delta: &f64| {
        let delta_ns = (delta * NS_PER_US).round().clamp(-LATEST_NS, LATEST_NS) as i64;
        now_ns = now_ns.saturating_add(delta_ns);
        u64::try_from(now_ns).unwrap_or(0)
    };
    let samples_ns = raw.time_deltas.iter().map(&mut add).collect();
    Times { samples_ns, start_ns: ns(start, scale), end_ns: raw.end.map(|end| ns(end, scale)) }
}

/// Timestamps are microseconds; start and end may be on another clock.
fn from_timestamps(raw: &RawProfile<'_>) -> Times {
    let samples_ns: Vec<u64> = raw.timestamps.iter().map(|&time| ns(time, NS_PER_US)).collect();
    let first_ns = samples_ns.iter().min().copied().unwrap_or(0);
    let last_ns = samples_ns.iter().max().copied().unwrap_or(0);
    let scale = scale_of_bounds(raw, (last_ns - first_ns) as f64 / NS_PER_US);
    let bounds = raw.start.zip(raw.end).map(|(start, end)| (ns(start, scale), ns(end, scale)));
    let same_clock = bounds.filter(|(start, end)| *start <= first_ns && last_ns <= *end);
    let start_ns = same_clock.map_or(first_ns, |(start, _)| start);
    Times { samples_ns, start_ns, end_ns: same_clock.map(|(_, end)| end) }
}

/// How many nanoseconds the unit of startTime and endTime is: microseconds, or seconds in old files. What
/// comes nearest to the time that the samples cover is meant.
fn scale_of_bounds(raw: &RawProfile<'_>, measured_us: f64) -> f64 {
    let declared = raw.end.unwrap_or(0.0) - raw.start.unwrap_or(0.0);
    if !(declared > 0.0 && measured_us > 0.0) {
        return NS_PER_US;
    }
    let misfit = |scale: &f64| (declared * scale / (measured_us * NS_PER_US)).ln().abs();
    let scales = [NS_PER_US, 1e6, 1e9];
    scales.into_iter().min_by(|one, two| misfit(one).total_cmp(&misfit(two))).unwrap_or(NS_PER_US)
}

fn ns(time: f64, scale: f64) -> u64 {
    // NaN becomes 0.
    (time * scale).round().clamp(0.0, LATEST_NS) as u64
}

/// How long each sample stands, given their sorted times: until the next one, the last until the end. Where
/// the end is not known, or is later than the samples make believable, the last gets the median.
pub(super) fn durations(sorted_ns: &[u64], end_ns: Option<u64>) -> Vec<u64> {
    let mut durations: Vec<u64> = sorted_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Some((first_ns, last_ns)) = sorted_ns.first().zip(sorted_ns.last()) else {
        return durations;
    };
    let until_end = end_ns.and_then(|end| end.checked_sub(*last_ns));
    let is_alone = sorted_ns.len() == 1;
    let believable =
        until_end.filter(|rest| *rest > 0 && (is_alone || *rest <= last_ns - first_ns));
    durations.push(believable.or_else(|| median(&durations)).unwrap_or(DEFAULT_INTERVAL_NS));
    durations
}

/// What V8 uses by default.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000;

/// The one in the middle.
pub(super) fn median(durations: &[u64]) -> Option<u64> {
    let mut durations = durations.to_vec();
    let middle = durations.len() / 2;
    (!durations.is_empty()).then(|| *durations.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(start: f64, end: f64, time_deltas: &[f64], timestamps: &[f64]) -> RawProfile<'static> {
        let mut raw = RawProfile::default();
        (raw.start, raw.end) = (Some(start), Some(end));
        (raw.time_deltas, raw.timestamps) = (time_deltas.to_vec(), timestamps.to_vec());
        raw
    }

    #[test]
    fn deltas_count_from_the_start() {
        let times = times(&raw(1000.0, 5000.0, &[1500.0, 1000.0, -200.0], &[]))
            .unwrap_or_else(|| unreachable!());
        assert_eq!(times.samples_ns, [2_500_000, 3_500_000, 3_300_000]);
        assert_eq!((times.start_ns, times.end_ns), (1_000_000, Some(5_000_000)));
    }

    #[test]
    fn bounds_in_seconds() {
        let times = times(&raw(12.0, 14.0, &[1e6, 9e5], &[])).unwrap_or_else(|| unreachable!());
        assert_eq!(times.samples_ns, [13_000_000_000, 13_900_000_000]);
        assert_eq!(times.end_ns, Some(14_000_000_000));
    }

    #[test]
    fn timestamps_on_another_clock() {
        let times = times(&raw(1.5e9, 1.5e9 + 2.0, &[], &[7e6, 8e6, 9e6]))
            .unwrap_or_else(|| unreachable!());
        assert_eq!((times.start_ns, times.end_ns), (7_000_000_000, None));
        assert_eq!(times.samples_ns[2], 9_000_000_000);
    }

    #[test]
    fn absurd_numbers() {
        let times = times(&raw(1e300, -1e300, &[f64::NAN, 1e300, 1e300, -1e300], &[]));
        assert_eq!(times.map(|times| times.samples_ns.len()), Some(4));
    }

    #[test]
    fn the_last_sample_stands_until_the_end() {
        assert_eq!(durations(&[10, 20, 40], Some(45)), [10, 20, 5]);
        assert_eq!(durations(&[10, 20, 40], None), [10, 20, 20]);
        assert_eq!(durations(&[10, 20, 40], Some(4000)), [10, 20, 20]);
        assert_eq!(durations(&[10], Some(40)), [30]);
        assert_eq!(durations(&[10], None), [DEFAULT_INTERVAL_NS]);
        assert_eq!(durations(&[], Some(40)), Vec::<u64>::new());
    }
}

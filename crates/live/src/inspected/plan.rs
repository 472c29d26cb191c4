//! Which process is visited when, and for how long: one process after another for the whole time each, or all in turn.

use std::time::{Duration, Instant};

use super::Options;

/// No visit is shorter.
const SHORTEST: Duration = Duration::from_millis(1);

/// The visits to come.
pub(super) struct Plan {
    places: usize,
    limit: Option<Duration>,
    each: Option<Duration>,
    visits: usize,
    start: Option<Instant>,
}

/// One visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) place: usize,
    /// `None` means until it ends.
    pub(super) length: Option<Duration>,
}

impl Plan {
    pub(super) fn new(places: usize, options: &Options) -> Self {
        let each = options.each.filter(|_| places > 1).map(|each| each.max(SHORTEST));
        Self { places, limit: options.limit, each, visits: 0, start: None }
    }

    /// How long it takes in all.
    pub(super) fn whole(&self) -> Option<Duration> {
        let times = if self.each.is_some() { 1 } else { u32::try_from(self.places).unwrap_or(1) };
        self.limit.map(|limit| limit.saturating_mul(times))
    }
}

impl Iterator for Plan {
    type Item = Stay;

    fn next(&mut self) -> Option<Stay> {
        let place = self.visits;
        self.visits += 1;
        let Some(each) = self.each else {
            return (place < self.places).then_some(Stay { place, length: self.limit });
        };
        let passed = self.start.get_or_insert_with(Instant::now).elapsed();
        let left = self.limit.map(|limit| limit.saturating_sub(passed));
        let length = left.map_or(each, |left| left.min(each));
        // Each place is visited at least once.
        let (length, is_first) = (length.max(SHORTEST), place < self.places);
        let stay =
            Stay { place: place % self.places, length: Some(if is_first { each } else { length }) };
        (is_first || left.is_none_or(|left| !left.is_zero())).then_some(stay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn plan(places: usize, limit: Option<Duration>, each: Option<Duration>) -> Plan {
        let options = Options {
            interval: SECOND,
            limit,
            each,
            calls: false,
            leaves_maps: false,
            own: profile::OwnNames::NONE,
            has_no_listener: false,
            profiled_too: false,
        };
        assert_eq!(options.whole(places), Plan::new(places, &options).whole());
        Plan::new(places, &options)
    }

    fn stays(plan: Plan, most: usize) -> Vec<(usize, Option<Duration>)> {
        plan.take(most).map(|stay| (stay.place, stay.length)).collect()
    }

    #[test]
    fn one_after_another() {
        let three = plan(3, Some(SECOND), None);
        assert_eq!(three.whole(), Some(SECOND * 3));
        assert_eq!(stays(three, 9), [(0, Some(SECOND)), (1, Some(SECOND)), (2, Some(SECOND))]);
        assert_eq!(stays(plan(1, None, Some(SECOND)), 9), [(0, None)]);
        assert_eq!(stays(plan(0, None, Some(SECOND)), 9), []);
    }

    #[test]
    fn in_turn_until_the_time_is_over() {
        let places: Vec<usize> =
            stays(plan(2, None, Some(SECOND)), 5).iter().map(|stay| stay.0).collect();
        assert_eq!(places, [0, 1, 0, 1, 0]);
        assert_eq!(stays(plan(2, Some(Duration::ZERO), Some(SECOND)), 5).len(), 2, "each once");
        let short = stays(plan(2, None, Some(Duration::ZERO)), 5);
        assert!(short.iter().all(|stay| stay.1 == Some(SHORTEST)), "{short:?}");
    }
}

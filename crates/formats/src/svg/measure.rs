//! What the widths of a picture count, and in which unit people read it.

use profile::{Profile, Unit};
use views::{Node, Weights};

use super::facts::grouped;

/// A unit is as large as it can be with this many of them in the total: boxes of 0.01 % then are one of them.
const ENOUGH_UNITS: u64 = 10_000;

type Sizes = &'static [(u64, &'static str)];

const TIMES: Sizes = &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];
const BYTES: Sizes = &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")];

/// Letters that may follow an event's name: `cycles:ppp`, `cycles:u`.
const MODIFIERS: &str = "ukhIGHpPSDWeb";

/// What is counted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Measure {
    /// `samples`, `ms`, `cycles`.
    pub(super) name: String,
    /// How much weight one of them is.
    pub(super) size: u64,
    /// Whether samples are counted instead of their weights.
    by_samples: bool,
}

impl Measure {
    pub(super) fn of(profile: &Profile, weights: &Weights) -> Self {
        let weight = |name: &str, size| Self { name: name.into(), size, by_samples: false };
        let samples = Self { name: "samples".into(), size: 1, by_samples: true };
        let Some(lane) = weights.lane.map(|id| profile.lane(id)) else { return samples };
        let unit_of = |sizes: Sizes| {
            let fits = |row: &&(u64, &str)| weights.total / row.0 >= ENOUGH_UNITS;
            let (size, name) = sizes.iter().find(fits).or(sizes.last()).copied().unwrap_or((1, ""));
            weight(name, size)
        };
        match lane.unit {
            Unit::Count => samples,
            // One event a sample: its own name means more.
            Unit::Event if weights.total == weights.samples => {
                weight(event_name(profile.text(lane.name)), 1)
            }
            _ if lane.counted && all_weigh_the_same(weights) => samples,
            Unit::Event => weight(event_name(profile.text(lane.name)), 1),
            Unit::Ns => unit_of(TIMES),
            Unit::Bytes => unit_of(BYTES),
        }
    }

    /// How wide a node is.
    pub(super) fn total_of(&self, node: &Node) -> u64 {
        self.choose(node.total_weight, node.total_samples)
    }

    /// How much of that is its own.
    pub(super) fn own_of(&self, node: &Node) -> u64 {
        self.choose(node.self_weight, node.self_samples)
    }

    /// `1,204 samples`
    pub(super) fn words(&self, weight: u128) -> String {
        let size = u128::from(self.size.max(1));
        format!("{} {}", grouped((weight + size / 2) / size), self.name)
    }

    /// The one of the two that is counted.
    pub(super) fn choose(&self, weight: u64, samples: u64) -> u64 {
        if self.by_samples { samples } else { weight }
    }
}

/// Whether widths are the same by weight and by number of samples.
fn all_weigh_the_same(weights: &Weights) -> bool {
    let (total, samples) = (u128::from(weights.total), u128::from(weights.samples));
    weights
        .entries
        .iter()
        .all(|entry| u128::from(entry.weight) * samples == total * u128::from(entry.samples))
}

fn event_name(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((event, letters)) if letters.chars().all(|letter| MODIFIERS.contains(letter)) => event,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Spec, profile};
    use super::*;
    use views::{Selection, weigh};

    fn name_of(unit: Unit, counted: bool, samples: &[u64]) -> String {
        let stacks: Vec<(&str, u64)> =
            samples.iter().map(|weight| ("a", *weight)).chain([("b", samples[0])]).collect();
        let profile = profile(&Spec { unit, counted, lane: "cycles:ppp", ..Spec::of(&stacks) });
        Measure::of(&profile, &weigh(&profile, &Selection::default())).name
    }

    #[test]
    fn units_fit_the_total() {
        assert_eq!(name_of(Unit::Ns, true, &[5_000_000_000, 6_000_000_000]), "ms");
        assert_eq!(name_of(Unit::Ns, true, &[5_000_000, 6_000_000]), "µs");
        assert_eq!(name_of(Unit::Ns, true, &[5, 6]), "ns");
        assert_eq!(name_of(Unit::Bytes, true, &[5, 6]), "bytes");
        assert_eq!(name_of(Unit::Bytes, true, &[1 << 30, 6]), "KiB");
        assert_eq!(name_of(Unit::Event, true, &[5, 6]), "cycles");
        assert_eq!(name_of(Unit::Count, true, &[5, 6]), "samples");
    }

    #[test]
    fn equal_weights_are_shown_as_samples() {
        assert_eq!(name_of(Unit::Ns, true, &[10_101_010, 10_101_010]), "samples");
        assert_eq!(name_of(Unit::Ns, false, &[10_101_010, 10_101_010]), "µs");
        assert_eq!(name_of(Unit::Event, true, &[1000, 1000]), "samples");
        assert_eq!(name_of(Unit::Event, true, &[1, 1]), "cycles");
    }

    #[test]
    fn event_names_lose_their_modifiers() {
        assert_eq!(event_name("cycles:ppp"), "cycles");
        assert_eq!(event_name("sched:sched_switch"), "sched:sched_switch");
        assert_eq!(event_name("page-faults"), "page-faults");
    }
}

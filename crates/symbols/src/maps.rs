//! What a process has mapped where. A later mapping takes the place of what it covers, as in the kernel.

use std::collections::BTreeMap;

use crate::places::PlaceId;

/// The mappings of one process, none overlapping another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maps {
    by_start: BTreeMap<u64, Mapping>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    /// The first address behind it.
    end: u64,
    place: PlaceId,
}

impl Maps {
    pub(crate) fn len(&self) -> usize {
        self.by_start.len()
    }

    /// Every mapping, by its start: the start, the end and the place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64, PlaceId)> + '_ {
        self.by_start.iter().map(|(start, mapping)| (*start, mapping.end, mapping.place))
    }

    /// What is mapped at an address.
    pub(crate) fn find(&self, address: u64) -> Option<PlaceId> {
        let (_, mapping) = self.by_start.range(..=address).next_back()?;
        (address < mapping.end).then_some(mapping.place)
    }

    /// Whether one mapping of that place covers the range already: V8 makes its code writable and executable
    /// again thousands of times, and each time the kernel reports a mapping.
    pub(crate) fn covers(&self, start: u64, end: u64, place: PlaceId) -> bool {
        let before = self.by_start.range(..=start).next_back();
        before.is_some_and(|(_, mapping)| mapping.end >= end && mapping.place == place)
    }

    /// Maps a place from `start` to before `end`.
    pub(crate) fn insert(&mut self, start: u64, end: u64, place: PlaceId) {
        if start < end {
            self.remove(start, end);
            self.by_start.insert(start, Mapping { end, place });
        }
    }

    /// Unmaps what is between `start` and before `end`.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        self.cut(start);
        self.cut(end);
        let covered: Vec<u64> = self.by_start.range(start..end).map(|(start, _)| *start).collect();
        for covered in covered {
            self.by_start.remove(&covered);
        }
    }

    /// Makes two mappings of the one that stands across an address.
    fn cut(&mut self, address: u64) {
        let Some((_, mapping)) = self.by_start.range_mut(..address).next_back() else { return };
        if mapping.end > address {
            let rest = *mapping;
            mapping.end = address;
            self.by_start.insert(address, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(maps: &Maps, addresses: &[u64]) -> Vec<Option<u32>> {
        addresses.iter().map(|address| maps.find(*address).map(|place| place.0)).collect()
    }

    #[test]
    fn later_mappings_replace_what_they_cover() {
        let mut maps = Maps::default();
        maps.insert(100, 200, PlaceId(1));
        maps.insert(300, 400, PlaceId(2));
        assert_eq!(
            found(&maps, &[99, 100, 199, 200, 300, 400]),
            [None, Some(1), Some(1), None, Some(2), None]
        );
        maps.insert(150, 350, PlaceId(3));
        assert_eq!(
            found(&maps, &[149, 150, 250, 349, 350]),
            [Some(1), Some(3), Some(3), Some(3), Some(2)]
        );
        maps.insert(200, 210, PlaceId(4));
        assert_eq!(found(&maps, &[199, 200, 209, 210]), [Some(3), Some(4), Some(4), Some(3)]);
        maps.insert(0, u64::MAX, PlaceId(5));
        assert_eq!(
            (found(&maps, &[0, 205, u64::MAX]), maps.len()),
            (vec![Some(5), Some(5), None], 1)
        );
    }

    #[test]
    fn a_mapping_of_nothing_changes_nothing() {
        let mut maps = Maps::default();
        maps.insert(100, 200, PlaceId(1));
        maps.insert(150, 150, PlaceId(2));
        maps.insert(180, 120, PlaceId(2));
        assert_eq!((found(&maps, &[100, 150, 199]), maps.len()), (vec![Some(1); 3], 1));
    }

    #[test]
    fn what_is_covered_already() {
        let mut maps = Maps::default();
        maps.insert(100, 200, PlaceId(1));
        assert!(maps.covers(100, 200, PlaceId(1)) && maps.covers(150, 160, PlaceId(1)));
        assert!(!maps.covers(150, 201, PlaceId(1)) && !maps.covers(99, 150, PlaceId(1)));
        assert!(!maps.covers(150, 160, PlaceId(2)));
    }
}

//! The selected weight by entry: the kinds, and of each its functions.

use profile::{FunctionId, Profile};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Entries, EntryKind, EntryPoint};
use crate::report::file_of;
use crate::weights::{Weights, share};

/// What one kind of entry asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryGroup {
    /// The kind.
    pub kind: EntryKind,
    /// Its part of the weight, from 0 to 1.
    pub share: f64,
    /// The part of the weight whose entry was inferred from other samples.
    pub inferred: f64,
    /// Its samples.
    pub samples: u64,
    /// Its functions, the heaviest first.
    pub functions: Vec<EntryRow>,
}

/// What one entry asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryRow {
    /// The function.
    #[serde(skip)]
    pub id: FunctionId,
    /// Its name; none where no function of the application was called.
    pub function: Option<String>,
    /// Its script.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// Without a function, the npm package; without both, it is Node itself.
    pub package: Option<String>,
    /// Its part of the weight, from 0 to 1.
    pub share: f64,
    /// The part of the weight whose entry was inferred from other samples.
    pub inferred: f64,
    /// Its samples.
    pub samples: u64,
}

impl EntryRow {
    /// What was called: `list`, `package express`, or Node itself.
    pub fn words(&self) -> String {
        match (&self.function, &self.package) {
            (Some(name), _) => name.clone(),
            (None, Some(package)) => format!("package {package}"),
            (None, None) => "Node itself".to_owned(),
        }
    }
}

/// `HTTP request ▸ list`, `timer ▸ package ioredis`
pub(crate) fn entry_words(profile: &Profile, point: &EntryPoint) -> String {
    match point.kind {
        EntryKind::NotJavaScript => point.kind.one().to_owned(),
        kind => format!("{} ▸ {}", kind.one(), row(profile, point, Sum::default(), 0).words()),
    }
}

/// Weight, and the samples that it comes from.
#[derive(Clone, Copy, Default)]
struct Sum {
    weight: u64,
    inferred: u64,
    samples: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.inferred = self.inferred.saturating_add(other.inferred);
        self.samples = self.samples.saturating_add(other.samples);
    }
}

/// The kinds of entries by their weight, the heaviest first; what is not JavaScript comes last.
pub fn entry_rows(profile: &Profile, weights: &Weights, entries: &Entries) -> Vec<EntryGroup> {
    let mut sums: FxHashMap<EntryPoint, Sum> = FxHashMap::default();
    for entry in &weights.entries {
        let point = entries.of(entry.stack);
        let inferred = if point.is_inferred { entry.weight } else { 0 };
        let key = EntryPoint { is_inferred: false, ..point };
        let sum = Sum { weight: entry.weight, inferred, samples: entry.samples };
        sums.entry(key).or_default().add(sum);
    }
    let mut points: Vec<(EntryPoint, Sum)> = sums.into_iter().collect();
    points.sort_by_key(|(point, sum)| {
        (std::cmp::Reverse(sum.weight), point.kind, point.function, point.package)
    });
    let mut groups: Vec<(EntryKind, Sum, Vec<EntryRow>)> = Vec::new();
    for (point, sum) in points {
        let row = row(profile, &point, sum, weights.total);
        match groups.iter_mut().find(|(kind, ..)| *kind == point.kind) {
            Some((_, all, rows)) => {
                all.add(sum);
                rows.push(row);
            }
            None => groups.push((point.kind, sum, vec![row])),
        }
    }
    groups.sort_by_key(|(kind, sum, _)| {
        (*kind == EntryKind::NotJavaScript, std::cmp::Reverse(sum.weight), *kind)
    });
    let group = |(kind, sum, functions): (EntryKind, Sum, Vec<EntryRow>)| EntryGroup {
        kind,
        share: share(sum.weight, weights.total),
        inferred: share(sum.inferred, weights.total),
        samples: sum.samples,
        functions,
    };
    groups.into_iter().map(group).collect()
}

fn row(profile: &Profile, point: &EntryPoint, sum: Sum, total: u64) -> EntryRow {
    let function = point.function.some().map(|id| (id, profile.functions().row(id)));
    EntryRow {
        id: point.function,
        function: function.map(|(_, row)| profile.text(row.name).to_owned()),
        file: function.and_then(|(id, _)| file_of(profile, id)).map(str::to_owned),
        line: function.map(|(_, row)| row.line).filter(|line| *line > 0),
        package: point.package.some().map(|id| profile.text(id).to_owned()),
        share: share(sum.weight, total),
        inferred: share(sum.inferred, total),
        samples: sum.samples,
    }
}

//! An npm package that has a large part of the time of the loops, apart from work that has a finding of its own.

use std::collections::BTreeMap;

use profile::{FunctionId, StackId, StringId, ThreadId};

use super::facts::loops_with_much;
use super::loop_work::{LoopWork, WorkRow};
use super::{Facts, Finding, Found, found, part, sum_ns, surely};
use crate::work::Work;

/// A service has its packages to work for it; one that takes a quarter of the time of its loop is worth a look.
const MUCH: f64 = 0.25;

/// A package that costs much.
#[derive(Clone, Debug, PartialEq)]
pub struct HotPackage {
    /// The package.
    pub package: StringId,
    /// The function of the application that it worked for most.
    pub function: FunctionId,
    /// The function of the package that this one called.
    pub callee: FunctionId,
    /// A stack of it.
    pub stack: StackId,
    /// The part of its time that it worked for that function.
    pub for_function: f64,
    /// The loops that it ran on.
    pub threads: Vec<ThreadId>,
    /// What it took, outside of stalls.
    pub weight: u64,
    /// The samples of that.
    pub samples: u64,
    /// Its part of the time of these loops, from 0 to 1.
    pub share: f64,
}

pub(super) fn find(facts: &Facts<'_>, earlier: &[Found]) -> Vec<Found> {
    let is_reported = |row: &WorkRow| {
        earlier.iter().any(|found| match &found.finding {
            Finding::Called(called) => {
                called.work == row.work && called.threads.contains(&row.thread)
            }
            Finding::Gc(gc) => row.work == Work::Gc && gc.threads.contains(&row.thread),
            _ => false,
        })
    };
    let mut by_package: BTreeMap<StringId, Vec<&WorkRow>> = BTreeMap::new();
    let rows = facts.work.rows.iter().filter(|row| !is_reported(row));
    for row in rows.filter(|row| row.package.some().is_some()) {
        by_package.entry(row.package).or_default().push(row);
    }
    by_package.values().filter_map(|rows| hot(facts, rows)).collect()
}

fn hot(facts: &Facts<'_>, rows: &[&WorkRow]) -> Option<Found> {
    let rows = || rows.iter().copied();
    let has_much = |threads: &[ThreadId]| {
        let sum = LoopWork::sum(rows(), threads);
        let sure_ns = surely(sum.short_weight, sum.short_samples);
        part(sure_ns, facts.times_ns(threads)) >= MUCH
    };
    let threads = loops_with_much(LoopWork::threads(rows()), has_much);
    let time_ns = facts.times_ns(&threads);
    let sum = LoopWork::sum(rows(), &threads);
    let its_rows = || rows().filter(|row| threads.contains(&row.thread));
    let most = its_rows().max_by_key(|row| (row.is_app, row.sum.short_weight))?;
    let its = its_rows().filter(|row| row.function == most.function);
    let for_function_ns = sum_ns(its.map(|row| row.sum.short_weight));
    let package = HotPackage {
        package: most.package,
        function: if most.is_app { most.function } else { FunctionId::NONE },
        callee: most.callee,
        stack: most.stack,
        for_function: crate::share(for_function_ns, sum.short_weight),
        threads: threads.clone(),
        weight: sum.short_weight,
        samples: sum.short_samples,
        share: part(sum.short_weight, time_ns).min(1.0),
    };
    Some(found(sum.short_weight, Finding::Package(package)))
}

//! What a request pays, in words.

use profile::ThreadId;

use super::{FindingRow, Telling};
use crate::LoopDelay;
use crate::text::about;

/// Adds to the first finding of each loop what requests to it paid.
pub(super) fn add(telling: &Telling<'_>, rows: &mut [FindingRow]) {
    let mut told: Vec<ThreadId> = Vec::new();
    for (found, row) in telling.findings.list.iter().zip(rows) {
        let mut threads = found.finding.threads();
        threads.retain(|thread| !told.contains(thread));
        row.text.extend(telling.delay(&threads));
        told.extend(threads);
    }
}

impl Telling<'_> {
    /// `A request arriving at any moment waited 0 ms (median), 294 ms (p99), 513 ms (worst).`
    fn delay(&self, threads: &[ThreadId]) -> Option<String> {
        let mut its = self.findings.delays.iter().filter(|row| threads.contains(&row.thread));
        let worst = its.next()?;
        let others: Vec<&LoopDelay> = its.collect();
        let whose = match self.findings.delays.len() {
            1 => String::new(),
            _ => format!(" to {},", self.loop_name(worst.thread)),
        };
        let figures = [
            Some(format!("{} (median)", figure(worst.median_ns))),
            Some(format!("{} (p99)", figure(worst.p99_ns))),
            worst.worst_ns.map(|ns| format!("{} (worst)", figure(Some(ns)))),
        ];
        let figures = figures.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let comma = if whose.is_empty() { "" } else { "," };
        let rest = others.first().map(|next| {
            let loops = match others.len() {
                1 => "the other loop".to_owned(),
                count => format!("the other {count} loops"),
            };
            format!("; at {loops} at most {} (p99)", figure(next.p99_ns))
        });
        let rest = rest.unwrap_or_default();
        Some(format!("A request{whose} arriving at any moment{comma} waited {figures}{rest}."))
    }
}

/// `; a request waited 4 ms at p99`: at the loop where that is longest.
pub(super) fn at_p99(telling: &Telling<'_>) -> Option<String> {
    let delays = &telling.findings.delays;
    let worst = delays.iter().map(|row| row.p99_ns).collect::<Option<Vec<u64>>>()?;
    Some(format!("; a request waited {} at p99", figure(worst.into_iter().max())))
}

/// A delay, with the digits that are known of it.
pub(in crate::report) fn figure(ns: Option<u64>) -> String {
    match ns {
        None => "under 50 ms".to_owned(),
        Some(0) => "0 ms".to_owned(),
        Some(..1_000_000) => "under 1 ms".to_owned(),
        Some(ns @ ..999_500_000) => format!("{:.0} ms", ns as f64 / 1e6),
        Some(ns) => about(ns),
    }
}

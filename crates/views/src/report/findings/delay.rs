//! What a request pays, in words.

use profile::ThreadId;

use super::{Context, FindingRow, capital};
use crate::text::about;
use crate::{Finding, LoopDelay};

/// Adds to the first finding of each loop what requests to it paid.
pub(super) fn add(context: &Context<'_>, rows: &mut [FindingRow]) {
    let mut reported: Vec<ThreadId> = Vec::new();
    for (found, row) in context.findings.list.iter().zip(rows) {
        let mut threads = found.finding.threads();
        threads.retain(|thread| !reported.contains(thread));
        // Their headlines say how busy the loop was.
        let has_use = matches!(found.finding, Finding::Busy(_) | Finding::BadWorker(_));
        row.text.extend(context.delay(&threads, !has_use));
        reported.extend(threads);
    }
}

/// The same of the loops that no finding is about: a full pool or a CPU limit may be the whole reason, or not.
pub(super) fn of_others(context: &Context<'_>) -> Option<String> {
    let reported: Vec<ThreadId> =
        context.findings.list.iter().flat_map(|found| found.finding.threads()).collect();
    let loops = context.findings.delays.iter().map(|row| row.thread);
    let rest: Vec<ThreadId> = loops.filter(|thread| !reported.contains(thread)).collect();
    context.delay(&rest, true)
}

impl Context<'_> {
    /// `The loop was free 70 % of the time; a request waited 0 ms (median), 294 ms (p99), 513 ms (worst).` Of several
    /// loops, the one where requests waited longest.
    fn delay(&self, threads: &[ThreadId], with_use: bool) -> Option<String> {
        let mut its = self.findings.delays.iter().filter(|row| threads.contains(&row.thread));
        let worst = its.next()?;
        let others: Vec<&LoopDelay> = its.collect();
        let several = self.findings.turns.loops.len() > 1;
        let name = if several { self.loop_name(worst.thread) } else { "the loop".to_owned() };
        let used = worst.utilisation.filter(|_| with_use);
        let head = match (used, several) {
            (Some(used), false) => format!("{} was free {}; a request", capital(&name), free(used)),
            (Some(used), true) => {
                format!("{} was free {}; a request to it", capital(&name), free(used))
            }
            (None, false) => "A request arriving at any moment".to_owned(),
            (None, true) => format!("A request to {name}, arriving at any moment,"),
        };
        let rest = others.first().map(|next| {
            let loops = match others.len() {
                1 => "the other loop".to_owned(),
                count => format!("the other {count} loops"),
            };
            format!("; at {loops} at most {} (p99)", figure(next.p99_ns))
        });
        Some(format!("{head} waited {}{}.", figures(worst), rest.unwrap_or_default()))
    }
}

/// `72 % of the time`
fn free(used: f64) -> String {
    format!("{:.0} % of the time", (1.0 - used) * 100.0)
}

/// `0 ms (median), 294 ms (p99), 513 ms (worst)`
fn figures(row: &LoopDelay) -> String {
    let LoopDelay { median_ns, p99_ns, worst_ns, .. } = *row;
    if (median_ns, p99_ns, worst_ns) == (None, None, None) {
        return figure(None);
    }
    let words = [(median_ns, "median"), (p99_ns, "p99"), (worst_ns, "worst")];
    // What is not known of the p99 is not known of the median.
    let known = if p99_ns.is_none() && median_ns.is_none() { &words[1..] } else { &words[..] };
    known
        .iter()
        .map(|(ns, which)| format!("{} ({which})", figure(*ns)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// `; a request waited 4 ms at p99`: at the loop where that is longest.
pub(super) fn at_p99(context: &Context<'_>) -> Option<String> {
    let delays = &context.findings.delays;
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

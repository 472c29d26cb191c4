//! A group of similar stalls, in words.

use crate::{FEW_SAMPLES, StallGroup, StallKind};

use super::{Telling, capital};
use crate::text::{about, rough_percent};

impl Telling<'_> {
    /// How often, how long, and what it was.
    pub(super) fn stalls(&self, group: &StallGroup) -> Vec<String> {
        let mut text = vec![self.stood_still(group)];
        let cause = match group.kind {
            StallKind::Blocked => self.blocked(group),
            StallKind::Collected => self.collected(group),
            _ => self.ran(group),
        };
        text.extend(cause);
        let is_much = group.ready_ns >= group.total_ns / 4;
        text.extend(
            is_much.then(|| format!("Of that it waited {} for a CPU.", about(group.ready_ns))),
        );
        text
    }

    /// `The event loop stood still 30 times, 304 ms each, once a second: 9.1 s of 30 s.`
    fn stood_still(&self, group: &StallGroup) -> String {
        let (whose, total, of) = match &group.threads[..] {
            [thread] => (capital(&self.loop_name(*thread)), about(group.total_ns), String::new()),
            several => {
                let count = several.len();
                (format!("{count} event loops"), about(group.total_ns), format!("{count} × "))
            }
        };
        let (count, duration) = (group.count, about(self.duration_ns));
        if count == 1 {
            return format!("{whose} stood still once, for {total}, at {}.", about(group.start_ns));
        }
        let each = match group.alike {
            alike if alike == count => format!("{} each", about(group.median_ns)),
            alike if alike * 5 >= count * 4 => format!("mostly for {}", about(group.median_ns)),
            _ => format!("for {}", span(&about(group.shortest_ns), &about(group.longest_ns))),
        };
        let rhythm = group.every_ns.map(rhythm).unwrap_or_default();
        format!("{whose} stood still {count} times, {each}{rhythm}: {total} of {of}{duration}.")
    }

    /// `Waiting for a child process, not on the CPU: execSync in deployStatus (server.js:2), called by poll
    /// (server.js:4).`
    fn blocked(&self, group: &StallGroup) -> Option<String> {
        let what = group.wait.as_ref().and_then(|wait| wait.what);
        let call = group.wait.as_ref().and_then(|wait| wait.call.clone());
        let head = match what {
            Some(what) => format!("Waiting for {what}, not on the CPU"),
            None => "Waiting, not on the CPU".to_owned(),
        };
        let place = self.named(group.function);
        let words = match (call, place) {
            (Some(call), Some(place)) => format!(": {call} in {place}{}", self.called_by(group)),
            (Some(call), None) => format!(": {call}"),
            (None, Some(place)) => format!(": in {place}{}", self.called_by(group)),
            (None, None) => "; no stack shows where".to_owned(),
        };
        Some(format!("{head}{words}."))
    }

    fn collected(&self, group: &StallGroup) -> Option<String> {
        let Some(place) = self.named(group.function) else {
            return Some(
                "Garbage collection. CPU samples do not show what stays alive.".to_owned(),
            );
        };
        Some(format!(
            "Garbage collection, while {place} allocated{}. CPU samples do not show what stays alive.",
            self.called_by(group)
        ))
    }

    /// `On the CPU: render (views.js:12) caused 87 % of it, called by list (server.js:3).`
    fn ran(&self, group: &StallGroup) -> Option<String> {
        let on_cpu = group.kind == StallKind::Ran;
        let Some(place) = self.named(group.function) else {
            return on_cpu
                .then(|| "On the CPU, but no sample shows a function of yours.".to_owned());
        };
        let head = if on_cpu { "On the CPU: " } else { "" };
        let caused = match group.of_samples {
            0..FEW_SAMPLES => {
                format!("{place}, in {} of its {} samples", group.samples, group.of_samples)
            }
            of_samples => {
                let share = crate::share(group.samples, of_samples);
                format!("{place} caused {} of it", rough_percent(share, of_samples))
            }
        };
        Some(format!("{head}{caused}{}.", self.called_by(group)))
    }

    fn called_by(&self, group: &StallGroup) -> String {
        self.named(group.entry).map(|entry| format!(", called by {entry}")).unwrap_or_default()
    }
}

/// `60 to 159 ms`, `60 ms to 1.2 s`
fn span(shortest: &str, longest: &str) -> String {
    let unit = |text: &str| text.rsplit(' ').next().map(str::to_owned);
    match shortest.rsplit_once(' ') {
        Some((number, _)) if unit(shortest) == unit(longest) => format!("{number} to {longest}"),
        _ => format!("{shortest} to {longest}"),
    }
}

fn rhythm(every_ns: u64) -> String {
    match every_ns {
        950_000_000..=1_050_000_000 => ", once a second".to_owned(),
        _ => format!(", every {}", about(every_ns)),
    }
}

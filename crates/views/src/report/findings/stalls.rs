//! A group of similar stalls, in words.

use profile::{FunctionId, StackId, ThreadId};

use crate::{FEW_SAMPLES, Rhythm, StallGroup, StallKind, Work};

use super::{Context, capital};
use crate::stalls::path_of;
use crate::text::{about, rough_percent};

/// So many functions of a path are named: the first, and the last ones.
const LONGEST_PATH: usize = 4;

impl Context<'_> {
    /// How often, how long, and what it was.
    pub(super) fn stalls(&self, group: &StallGroup) -> Vec<String> {
        let mut text = vec![self.stood_still(group)];
        text.extend(match group.kind {
            StallKind::Blocked => self.blocked(group),
            _ => self.ran(group),
        });
        let is_much = group.ready_ns >= group.total_ns / 4;
        text.extend(
            is_much.then(|| format!("Of that it waited {} for a CPU.", about(group.ready_ns))),
        );
        text
    }

    /// `The event loop stood still 30 times, 304 ms each, once a second: 9.1 s of 30 s.`
    pub(super) fn stood_still(&self, group: &StallGroup) -> String {
        let whose = capital(&self.loops_name(&group.threads));
        if group.count == 1 {
            let (total, start) = (about(group.total_ns), about(group.start_ns));
            return format!("{whose} stood still once, for {total}, at {start}.");
        }
        let time = self.of_duration(group.total_ns, &group.threads);
        match each(&group.rhythm, &group.threads) {
            Some(stops) => format!("Each of {whose} stood still {stops}: {time}."),
            None => format!("{whose} stood still {}: {time}.", stops(&group.rhythm)),
        }
    }

    /// `Waiting for a child process, not on the CPU: execSync in deployStatus (server.js:2), called by poll
    /// (server.js:4).`
    pub(super) fn blocked(&self, group: &StallGroup) -> Option<String> {
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

    /// `On the CPU, 95 % of it in the timer nightlyReport (server.js:13) → aggregate → summarise (lib/orders.js:3).`
    pub(super) fn ran(&self, group: &StallGroup) -> Option<String> {
        let on_cpu = group.kind == StallKind::Ran;
        let Some(path) = self.path(group.stack, group.function, group.work) else {
            return on_cpu
                .then(|| "On the CPU, but no sample shows a function of yours.".to_owned());
        };
        let asked_by = group.asked_by.caller().map(|caller| format!("the {caller} "));
        let path = asked_by.unwrap_or_default() + &path;
        let part = match group.of_samples {
            0..FEW_SAMPLES => format!("{} of {} samples", group.samples, group.of_samples),
            of_samples => format!("{} of it", rough_percent(group.share, of_samples)),
        };
        Some(match on_cpu {
            true => format!("On the CPU, {part} in {path}."),
            false => format!("{} in {path}.", capital(&part)),
        })
    }

    /// `, called by the timer poll (server.js:4)`
    fn called_by(&self, group: &StallGroup) -> String {
        match (group.asked_by.caller(), self.named(group.entry)) {
            (Some(caller), Some(entry)) => format!(", called by the {caller} {entry}"),
            (Some(_), None) if group.function.some().is_some() => {
                format!(", called by {}", group.asked_by.with_article())
            }
            (None, Some(entry)) => format!(", called by {entry}"),
            _ => String::new(),
        }
    }

    /// The functions from the entry to the one that is accused, and the package or call that worked for it:
    /// `nightlyReport (server.js:13) → aggregate → summarise (lib/orders.js:3) → cloneDeep of lodash`.
    pub(super) fn path(&self, stack: StackId, last: FunctionId, work: Work) -> Option<String> {
        let last = last.some()?;
        let doings = self.doings;
        let mut path = path_of(self.profile, doings, stack);
        let end = path.iter().position(|function| *function == last).map_or(0, |place| place + 1);
        path.truncate(end);
        if path.is_empty() {
            path.push(last);
        }
        // Functions without a name explain nothing between others.
        let is_named = |id: FunctionId| {
            !matches!(
                self.profile.text(self.profile.functions().name[id.index()]),
                "" | "(anonymous)"
            )
        };
        let (first, last_row) = (path[0], path.len() - 1);
        path = path
            .iter()
            .enumerate()
            .filter(|(row, id)| *row == 0 || *row == last_row || is_named(**id))
            .map(|(_, id)| *id)
            .collect();
        let bare = |id: &FunctionId| {
            let row = self.profile.functions().row(*id);
            self.place_words(self.profile.text(row.name), None, None)
        };
        let mut words: Vec<String> = path.iter().map(bare).collect();
        let count = words.len();
        if let Some(first) = self.named(first) {
            words[0] = first;
        }
        words[count - 1] = self.named(last)?;
        if count > LONGEST_PATH {
            words.splice(1..count - (LONGEST_PATH - 2), ["…".to_owned()]);
        }
        let doing = doings.of(stack);
        let is_for_app =
            doing.is_app && doing.callee.some().is_some() && doing.package.some().is_some();
        if work == Work::Own && is_for_app {
            let package = self.profile.text(doing.package);
            words.push(format!("{} of {package}", bare(&doing.callee)));
        }
        Some(words.join(" → "))
    }
}

/// `30 times, 304 ms each, once a second`
pub(super) fn stops(rhythm: &Rhythm) -> String {
    let Rhythm { count, median_ns, longest_ns, alike, .. } = *rhythm;
    if count == 1 {
        return format!("once, for {}", about(longest_ns));
    }
    let each = match alike == count {
        true => format!("{} each", about(median_ns)),
        false => lengths(rhythm),
    };
    let every = rhythm.every_ns.filter(|_| rhythm.loops == 1);
    let every = every.map(|ns| format!(", {}", every_words(ns))).unwrap_or_default();
    format!("{count} times, {each}{every}")
}

/// `every 9.8 s for 310 ms (longest 344 ms)`: of several loops that have the same rhythm, what each does.
pub(super) fn each(rhythm: &Rhythm, threads: &[ThreadId]) -> Option<String> {
    let Rhythm { count, median_ns, longest_ns, alike, loops, every_ns, .. } = *rhythm;
    let every = every_words(every_ns.filter(|_| loops > 1 && loops == threads.len())?);
    let (usual, longest) = (about(median_ns), about(longest_ns));
    Some(match alike == count {
        true if usual == longest => format!("{every} for {usual}"),
        true => format!("{every} for {usual} (longest {longest})"),
        false => format!("{every}, {}", lengths(rhythm)),
    })
}

/// `mostly for 56 ms (worst 230 ms)`, `for 60 to 159 ms`
fn lengths(rhythm: &Rhythm) -> String {
    let Rhythm { count, shortest_ns, median_ns, longest_ns, alike, .. } = *rhythm;
    match alike * 5 >= count * 4 {
        true if longest_ns > 2 * median_ns => {
            format!("mostly for {} (worst {})", about(median_ns), about(longest_ns))
        }
        true => format!("mostly for {}", about(median_ns)),
        false => format!("for {}", span(&about(shortest_ns), &about(longest_ns))),
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

fn every_words(every_ns: u64) -> String {
    match every_ns {
        950_000_000..=1_050_000_000 => "once a second".to_owned(),
        _ => format!("every {}", about(every_ns)),
    }
}

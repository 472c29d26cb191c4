//! Loops that are busy, packages that cost much and one bad process of several, in words.

use profile::StringId;

use super::delay::figure;
use super::figures::part_in_turns;
use super::{Context, LARGEST_USERS, capital};
use crate::packages::{Versions, package_words, pulled_in_by};
use crate::text::rough_percent;
use crate::{BadWorker, Busy, FEW_SAMPLES, HotPackage, Work};

/// From this part on a sentence says that the causes explain little.
const MOSTLY_OTHERS: f64 = 0.5;

impl Context<'_> {
    /// `The event loop was busy 93 % of the time, mostly with short turns: what arrives has to queue.`
    pub(super) fn busy(&self, busy: &Busy) -> Vec<String> {
        let row = &busy.row;
        let part = part_in_turns(row);
        let effect = busy.median_ns.map_or("what arrives has to queue".to_owned(), |ns| {
            format!("half of all requests waited {} or longer", figure(Some(ns)))
        });
        let mut text = vec![format!(
            "{} was busy {:.0} % of the time, mostly with short turns: {effect}.",
            capital(&self.loop_name(row.thread)),
            part * 100.0
        )];
        text.extend(self.causes(busy));
        text
    }

    /// `Largest causes: render (views.js:12) 67 %.` Nothing where there are too few samples.
    fn causes(&self, busy: &Busy) -> Vec<String> {
        let mut text = Vec::new();
        let (weight, samples) = busy.sampled;
        let one = |(function, its, _): &(profile::FunctionId, u64, u64)| {
            let share =
                Some(crate::share(*its, weight)).filter(|its| self.is_sure(*its, samples))?;
            Some(format!("{} {}", self.named(*function)?, rough_percent(share, samples)))
        };
        let causes: Vec<String> =
            busy.functions.iter().take(LARGEST_USERS).filter_map(one).collect();
        if samples >= FEW_SAMPLES && !causes.is_empty() {
            text.push(format!("Largest causes: {}.", causes.join(", ")));
        }
        let own = busy.functions.iter().fold(0u64, |sum, (_, its, _)| sum.saturating_add(*its));
        let others = 1.0 - crate::share(own, weight);
        if samples >= FEW_SAMPLES && others >= MOSTLY_OTHERS {
            text.push(format!(
                "{} of it was for none of your functions: packages, Node, and the loop itself where it never waits.",
                rough_percent(others, samples)
            ));
        }
        text
    }

    /// `The package ejs 3.1.10 took 46 % of the time of the event loop.`
    pub(super) fn package(&self, package: &HotPackage) -> Vec<String> {
        let version = self.version_of(package);
        let name = package_words(
            self.profile.text(package.package),
            version.some().map(|version| self.profile.text(version)),
        );
        let share = rough_percent(package.share, package.samples);
        let whose = self.loops_name(&package.threads);
        let mut text = vec![format!("The package {name} took {share} of the time of {whose}.")];
        let users = pulled_in_by(self.profile, package.package, version);
        if let Some((first, others)) = users.split_first() {
            let more = match others.len() {
                0 => String::new(),
                1 => " and another package".to_owned(),
                count => format!(" and {count} other packages"),
            };
            text.push(format!("It was pulled in by {first}{more}."));
        }
        let part = rough_percent(package.for_function, package.samples);
        text.extend(
            self.path(package.stack, package.function, Work::Own)
                .map(|path| format!("{part} of that was for {path}.")),
        );
        text
    }

    /// The version of the package whose function the application called.
    fn version_of(&self, package: &HotPackage) -> StringId {
        let called = package.callee.some();
        let version =
            called.map_or(StringId::NONE, |id| self.profile.functions().version[id.index()]);
        Versions::new(self.profile).of(package.package, version)
    }

    /// `Pid 4143 is busy 78 % of the time, the 3 others 6 %: look at what differs in that process.`
    pub(super) fn bad_worker(&self, worker: &BadWorker) -> Vec<String> {
        let pid = self.profile.process(worker.process).pid;
        let whose = pid.map_or("One process".to_owned(), |pid| format!("Pid {pid}"));
        let (busy, usual) = (worker.busy * 100.0, worker.usual * 100.0);
        let mut text = vec![format!(
            "{whose} was busy {busy:.0} % of the time, the {} other workers about {usual:.0} %: one bad process, not too much load.",
            worker.others
        )];
        text.extend(match &worker.cause {
            Some(cause) => self.words(cause),
            None => self.causes(&worker.busy_with),
        });
        text
    }
}

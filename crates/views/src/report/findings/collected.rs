//! Garbage collection, in words.

use profile::Category;

use super::Context;
use super::stalls::{each, stops};
use crate::report::caused;
use crate::text::{about, rough_percent};
use crate::{Collected, Collection, FEW_SAMPLES, LoopGc, Selection, TopKey};

/// What samples cannot show.
const NOT_SHOWN: &str = "CPU samples do not show what stays alive.";
/// A kind of collection is named where it has this part of the time of all.
const MOSTLY: f64 = 0.8;

impl Context<'_> {
    pub(super) fn collected(&self, gc: &Collected) -> Vec<String> {
        let mut text = vec![match &gc.rhythm {
            Some(rhythm) => {
                let what = match (gc.kind, rhythm.count) {
                    (Some(Collection::Full), 1) => "A full garbage collection",
                    (Some(Collection::Full), _) => "Full garbage collections",
                    (Some(Collection::Scavenge), 1) => "A collection of young objects",
                    (Some(Collection::Scavenge), _) => "Collections of young objects",
                    (None, 1) => "A garbage collection",
                    (None, _) => "Garbage collections",
                };
                let time = match rhythm.count {
                    1 => String::new(),
                    _ => format!(": {}", self.of_duration(gc.paused_ns, &gc.threads)),
                };
                let whose = self.loops_name(&gc.threads);
                match each(rhythm, &gc.threads) {
                    Some(stops) => format!("{what} stopped each of {whose} {stops}{time}."),
                    None => format!("{what} stopped {whose} {}{time}.", stops(rhythm)),
                }
            }
            None => format!("Garbage collection took {}.", self.gc_share(&gc.worst)),
        }];
        text.extend(self.began(gc).map(|words| format!("{words} {NOT_SHOWN}")));
        text.extend(self.all_collections(gc));
        let helpers = self.findings.gc.helpers;
        text.extend((helpers >= 0.01 && gc.rhythm.is_none()).then(|| {
            let share = rough_percent(helpers, self.samples);
            format!("Beside it, helper threads collected for {share} of all CPU time; that does not stop the loop.")
        }));
        text
    }

    /// `5 of 6 began while set (lib/cache.js:41) allocated.` Where that was not seen, who allocated during all of them.
    fn began(&self, gc: &Collected) -> Option<String> {
        let Some(rhythm) = &gc.rhythm else { return self.allocator(gc, "it") };
        let Some((function, count)) = gc.began else {
            return self.allocator(gc, "all collections");
        };
        let place = self.named(function)?;
        Some(match rhythm.count {
            1 => format!("It began while {place} allocated."),
            all if all == count => format!("All began while {place} allocated."),
            all => format!("{count} of {all} began while {place} allocated."),
        })
    }

    /// What all collections took together, with the short ones.
    fn all_collections(&self, gc: &Collected) -> Option<String> {
        let worst = &gc.worst;
        let full = crate::share(worst.full_weight, worst.weight);
        let kind = match full {
            _ if worst.gc_samples < FEW_SAMPLES => None,
            full if full >= MOSTLY => Some("mostly full ones"),
            full if full <= 1.0 - MOSTLY => Some("mostly of young objects"),
            _ => None,
        };
        match (&gc.rhythm, kind) {
            (None, kind) => kind.map(|kind| format!("They were many short collections, {kind}.")),
            (Some(_), _) if worst.gc_samples < FEW_SAMPLES => None,
            (Some(_), kind) => {
                let kind = kind.map(|kind| format!(", {kind}")).unwrap_or_default();
                let share = self.gc_share(worst);
                Some(format!("All collections together took {share}{kind}."))
            }
        }
    }

    /// `18 % of the time of the main loop (36 % of its CPU time)`
    pub(super) fn gc_share(&self, gc: &LoopGc) -> String {
        let of_cpu = rough_percent(gc.of_cpu, gc.samples);
        let whose = self.loop_name(gc.thread);
        match gc.of_time {
            Some(of_time) => {
                let of_time = rough_percent(of_time, gc.samples);
                let cpu = if of_time == of_cpu {
                    String::new()
                } else {
                    format!(" ({of_cpu} of its CPU time)")
                };
                format!("{of_time} of the time of {whose}{cpu}")
            }
            None => format!("{of_cpu} of the samples of {whose}"),
        }
    }

    /// The function that the finding names, and the part of the collecting that happened while it ran, which the words
    /// call `whole`.
    fn allocator(&self, gc: &Collected, whole: &str) -> Option<String> {
        let its = TopKey::Function(gc.allocator.some()?);
        let (categories, threads) = (Some(vec![Category::Gc]), Some(vec![gc.worst.thread]));
        let selection = Selection { categories, threads, search: None, ..self.selection.clone() };
        let weights = crate::weigh(self.profile, &selection);
        let caused =
            caused(self.profile, &weights, &selection, &[Category::App], crate::TopBy::Function);
        let weight = *caused.get(&its)?;
        let share = rough_percent(crate::share(weight, weights.total), weights.samples);
        Some(format!("{} allocated during {share} of {whole}.", self.named(gc.allocator)?))
            .filter(|_| weights.samples >= FEW_SAMPLES)
    }

    /// `2.0 s of 5 s`, `2.0 s of 4 × 5 s`
    pub(super) fn of_duration(&self, time_ns: u64, threads: &[profile::ThreadId]) -> String {
        let times = match threads.len() {
            0 | 1 => String::new(),
            several => format!("{several} × "),
        };
        format!("{} of {times}{}", about(time_ns), about(self.duration_ns))
    }
}

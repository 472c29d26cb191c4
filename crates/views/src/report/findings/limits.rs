//! The CPU limit, other programs and memory, in words.

use profile::ProcessId;

use super::{Context, LARGEST_USERS};
use crate::report::FunctionRow;
use crate::text::{about, rough_percent};
use crate::{CpuLimit, CpuWait, FEW_SAMPLES};

impl Context<'_> {
    /// `Held back by the CPU limit, not by slow code: throttled in 92 % of periods, 19.3 s of 30 s.`
    pub(super) fn cpu_limit(&self, limit: &CpuLimit, lost_ns: u64) -> Vec<String> {
        let whose = limit.process.and_then(|id| self.profile.process(id).pid);
        let whose = whose.map_or("Held back".to_owned(), |pid| format!("Pid {pid} was held back"));
        let periods = limit
            .throttled_share
            .map(|share| format!("throttled in {:.0} % of periods, ", share * 100.0));
        // Where slow code made most stalls, a finding of its own says so.
        let cause = match limit.stalls * 2 >= limit.all_stalls {
            true => "by the CPU limit, not by slow code",
            false => "by the CPU limit",
        };
        let mut text = vec![format!(
            "{whose} {cause}: {}{} of {}.",
            periods.unwrap_or_default(),
            about(lost_ns),
            about(self.duration_ns)
        )];
        text.extend(self.part_of_stalls(
            limit.stalls,
            limit.all_stalls,
            limit.longest_ns,
            "throttling",
        ));
        let cpus = limit.limit_millis.map(|millis| format!(" ({} CPU)", f64::from(millis) / 1e3));
        let users = self.largest_users();
        let users = users.map(|users| format!(" Largest users: {users}.")).unwrap_or_default();
        text.push(format!("Raise the limit{}, or use less CPU.{users}", cpus.unwrap_or_default()));
        text
    }

    pub(super) fn cpu_wait(&self, wait: &CpuWait, lost_ns: u64) -> Vec<String> {
        let pid = wait.process.and_then(|id| self.profile.process(id).pid);
        let why = match (wait.by_others, self.is_limit_known(wait)) {
            (true, true) => "other programs used them",
            (true, false) => "other programs used them, or a CPU limit that could not be read",
            (false, _) if self.findings.host.len() > 1 => {
                "more threads were ready than there were CPUs, its own or those of other programs"
            }
            (false, _) => "more threads were ready than there were CPUs",
        };
        let duration = about(self.duration_ns);
        let (who, waited_ns) = match (wait.waited_ns, pid) {
            (Some(ns), None) => ("Its threads together".to_owned(), ns),
            (Some(ns), Some(pid)) => (format!("The threads of pid {pid} together"), ns),
            (None, None) if self.findings.turns.loops.len() > 1 => {
                ("In long turns, the event loops together".to_owned(), lost_ns)
            }
            (None, None) => ("In long turns, the event loop".to_owned(), lost_ns),
            (None, Some(pid)) => (format!("In long turns, the loop of pid {pid}"), lost_ns),
        };
        let waited = about(waited_ns);
        let mut text = vec![format!("{who} waited {waited} for a CPU in {duration}: {why}.")];
        text.extend(self.part_of_stalls(
            wait.stalls,
            wait.all_stalls,
            wait.longest_ns,
            "that, not slow code",
        ));
        text
    }

    /// Whether the counters of the process's control group could be read.
    fn is_limit_known(&self, wait: &CpuWait) -> bool {
        let is_its = |process: ProcessId| wait.process.is_none_or(|its| its == process);
        let mut its = self.findings.host.iter().filter(|(process, _)| is_its(*process));
        its.all(|(_, times)| times.periods.is_some())
    }

    /// `38 of the loop's 41 stalls (worst 431 ms) were throttling.`
    fn part_of_stalls(
        &self,
        count: usize,
        all: usize,
        longest_ns: u64,
        what: &str,
    ) -> Option<String> {
        let longest = about(longest_ns);
        match (count, all) {
            (0, _) => None,
            (1, 1) => Some(format!("The loop's only stall ({longest}) was {what}.")),
            _ => {
                let were = if count == 1 { "was" } else { "were" };
                Some(format!("{count} of {all} stalls (worst {longest}) {were} {what}."))
            }
        }
    }

    pub(super) fn memory_pressure(&self, process: Option<ProcessId>, lost_ns: u64) -> Vec<String> {
        let pid = process.and_then(|id| self.profile.process(id).pid);
        let whose = pid.map(|pid| format!("the control group of pid {pid}"));
        let whose = whose.unwrap_or("its control group".to_owned());
        let (lost, duration) = (about(lost_ns), about(self.duration_ns));
        vec![
            format!(
                "Tasks in {whose} waited {lost} for memory in {duration}: there is too little."
            ),
            "Raise the memory limit, or hold less in memory.".to_owned(),
        ]
    }

    /// `render (views.js:12) 41 %, load (api.js:7) 22 %`, where there are samples enough.
    pub(super) fn largest_users(&self) -> Option<String> {
        if self.samples < FEW_SAMPLES || self.own.is_empty() {
            return None;
        }
        let one = |row: &FunctionRow| {
            let place = self.place_words(&row.name, row.file.as_deref(), row.line);
            format!(
                "{place} {}",
                rough_percent(row.times.caused_share.unwrap_or_default(), self.samples)
            )
        };
        let is_sure = |row: &&FunctionRow| {
            self.is_sure(row.times.caused_share.unwrap_or_default(), self.samples)
        };
        let users: Vec<String> =
            self.own.iter().take(LARGEST_USERS).filter(is_sure).map(one).collect();
        Some(users.join(", ")).filter(|users| !users.is_empty())
    }
}

//! One kind of work on event loops, in words: how much it took, which call where, and what to use instead.

use crate::text::{about, rough_percent};
use crate::{Called, Caller, StallKind, Work};

use super::{Context, capital};

/// So many callers are named.
const MOST_CALLERS: usize = 3;
/// A caller with less than this part of the first one's cost is left out.
const LEAST_CALLER: u64 = 5;

/// What each kind of work is called, and what to do about it.
const WORDS: &[(Work, &str, &str)] = &[
    (Work::Child, "Synchronous child processes", "exec, execFile and spawn do not block the loop."),
    (
        Work::Files,
        "Synchronous file calls",
        "The calls of fs/promises do not block the loop; what rarely changes can be kept in memory.",
    ),
    (
        Work::Crypto,
        "Synchronous cryptography",
        "pbkdf2, scrypt, sign and others use the thread pool when they are given a callback.",
    ),
    (
        Work::Compression,
        "Synchronous compression",
        "The calls with a callback (gzip, inflate …) use the thread pool.",
    ),
    (
        Work::Output,
        "Writing to the console",
        "The loop waits for each write to a file or a pipe: log less, or through a logger that writes in the background.",
    ),
    (
        Work::Regexp,
        "Regular expressions",
        "Match less or shorter text; for fixed words, includes and indexOf cost less.",
    ),
    (Work::Json, "JSON", "Send or keep less of it, or parse it in a worker thread."),
    (Work::Copies, "Deep copies", "Copy only what changes."),
    (Work::Modules, "Loading modules while serving", "Load them when the program starts."),
    (
        Work::Compiling,
        "Compiling JavaScript",
        "Code that is made again and again (eval, new Function, vm, templates) is compiled again: keep what was made.",
    ),
];

/// Of one pattern that makes long turns.
const BACKTRACKS: &str = "A pattern that takes this long mostly backtracks: look for nested or neighbouring repeats, and limit the length of the input.";
/// Functions of Node's hashes, HMACs and ciphers: they have no form with a callback.
const WITHOUT_CALLBACK: &[&str] = &[
    "Hash",
    "hash",
    "Hmac",
    "update",
    "digest",
    "Cipheriv",
    "Decipheriv",
    "final",
    "_transform",
    "_flush",
];
const NO_CALLBACK: &str = "Hashes and ciphers have no form with a callback: crypto.subtle uses the thread pool, and a worker thread leaves the loop free.";

/// `JSON, 6 of 9 samples`: that it was this rests on few.
fn with_samples(called: &Called, what: &str) -> String {
    match called.samples_of_stalls() {
        Some((its, all)) if all < crate::FEW_SAMPLES => format!("{what}, {its} of {all} samples"),
        _ => what.to_owned(),
    }
}

impl Context<'_> {
    pub(super) fn called(&self, called: &Called) -> Vec<String> {
        let (_, what, advice) =
            WORDS.iter().find(|(work, ..)| *work == called.work).copied().unwrap_or_default();
        let stalled_ns =
            called.stalls.iter().fold(0u64, |sum, its| sum.saturating_add(its.total_ns));
        let first = called.stalls.first().filter(|_| stalled_ns > called.short_ns);
        let mut text = Vec::new();
        match first {
            Some(group) => {
                text.push(self.stood_still(group));
                match group.kind {
                    StallKind::Blocked => text.extend(self.blocked(group)),
                    _ => text.push(self.callers(called, &with_samples(called, what))),
                }
            }
            None => {
                let share = rough_percent(called.share, called.samples);
                let whose = self.loops_name(&called.threads);
                text.push(format!("{what} took {share} of the time of {whose}."));
                text.push(self.callers(called, ""));
            }
        }
        text.extend(self.other_stalls(called, first.is_some()));
        text.push(special_advice(called, first.is_some()).unwrap_or(advice).to_owned());
        text
    }

    /// `JSON: JSON.parse in list (server.js:10) → copySettings (server.js:6), line 7.`
    fn callers(&self, called: &Called, what: &str) -> String {
        let most = called.callers.first().map_or(0, |caller| caller.cost_ns);
        let is_large = |caller: &&Caller| caller.cost_ns >= most / LEAST_CALLER;
        let callers = called.callers.iter().filter(is_large).take(MOST_CALLERS);
        let words: Vec<String> = callers.map(|caller| self.caller(caller, called.work)).collect();
        let words = words.join("; ");
        match (what, words.starts_with("in ")) {
            ("", true) => format!("{}.", capital(&words)),
            // A call keeps its name at the start of a sentence.
            ("", false) => format!("{words}."),
            (what, true) => format!("{what} {words}."),
            (what, false) => format!("{what}: {words}."),
        }
    }

    fn caller(&self, caller: &Caller, work: Work) -> String {
        let calls = match &caller.calls[..] {
            [] => String::new(),
            [one] => format!("{one} "),
            [first, second, ..] => format!("{first} and {second} "),
        };
        match self.path(caller.stack, caller.function, work) {
            Some(path) => format!("{calls}in {path}{}", self.at_line(caller)),
            None => format!("{calls}where no stack shows the caller"),
        }
    }

    /// The line of the call, where it is not the line of the function.
    fn at_line(&self, caller: &Caller) -> String {
        let own = caller.function.some().map_or(0, |id| self.profile.functions().line[id.index()]);
        match caller.line {
            0 => String::new(),
            line if line == own => String::new(),
            line => format!(", line {line}"),
        }
    }

    /// Stalls that the headline does not count.
    fn other_stalls(&self, called: &Called, is_headline: bool) -> Option<String> {
        let others = called.stalls.iter().skip(usize::from(is_headline));
        let (count, longest_ns) = others.fold((0, 0), |(count, longest), group| {
            (count + group.count, longest.max(group.rhythm.longest_ns))
        });
        let again = if is_headline { " more" } else { "" };
        let worst = about(longest_ns);
        match (count, is_headline) {
            (0, true) => {
                let share = rough_percent(called.share, called.samples.max(1));
                (called.short_ns > 0 && called.samples >= crate::FEW_SAMPLES)
                    .then(|| format!("With short turns, it took {share} of the time."))
            }
            (0, false) => None,
            (1, _) => Some(format!("The loop stood still for it once{again}, for {worst}.")),
            (count, _) => {
                Some(format!("The loop stood still for it {count}{again} times, worst {worst}."))
            }
        }
    }
}

/// What to do where the kind of work alone does not show it.
fn special_advice(called: &Called, is_long: bool) -> Option<&'static str> {
    let first = called.callers.first()?;
    // Where its text is not known, a pattern has no name.
    let is_one_pattern = is_long && first.calls.len() <= 1;
    // The call with most weight comes first.
    let is_piecewise = first.calls.first().is_some_and(|call| {
        let own = call.rsplit('.').next().unwrap_or_default();
        WITHOUT_CALLBACK.contains(&own)
    });
    match called.work {
        Work::Regexp => is_one_pattern.then_some(BACKTRACKS),
        Work::Crypto => is_piecewise.then_some(NO_CALLBACK),
        _ => None,
    }
}

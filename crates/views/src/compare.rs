//! Two recordings against each other: what changed in a second of recording, or in shares, and whether by more than
//! noise. The page has the same rule for what the user picks (`page/src/compute/diff.ts`); a test compares both. The
//! rule stands in docs/page.md, "Before and after".

mod same;
mod spread;
mod words;

use profile::{Category, FunctionId, Lane, LaneId, Profile, Role, ThreadId};
use serde::Serialize;

use crate::report::{function_words, short_place};
use spread::{Side, Spread, Verdict};

/// Whose samples are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The busiest main loop of each: what the page opens on. All threads, where a recording knows no main loop.
    Loops,
    /// All threads.
    Threads,
}

/// What of them is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// What was used in a second of recording.
    Rate,
    /// Shares of all that was used.
    Share,
}

/// Of what a rate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RateUnit {
    /// CPU seconds in a second.
    Cores,
    /// Bytes in a second.
    Bytes,
    /// Events in a second.
    Events,
}

/// What changed, of all that the page opens on.
#[derive(Debug, Serialize)]
pub struct Comparisons {
    /// Of the main loops.
    pub loops: Comparison,
    /// Of all threads.
    pub threads: Comparison,
    /// Of the main loops, in shares.
    pub loop_shares: Comparison,
    /// Of all threads, in shares.
    pub thread_shares: Comparison,
}

/// What changed from one recording to another.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Whether main loops were compared; else all threads.
    #[serde(skip)]
    pub are_loops: bool,
    /// How all of it changed, or why that is not known.
    pub text: String,
    /// What stands before the changes.
    pub intro: String,
    /// The functions that changed beyond noise, the largest change first.
    pub changes: Vec<Change>,
}

/// A function that changed.
#[derive(Debug, Serialize)]
pub struct Change {
    /// Its row in the newer recording; one that only the older has stands behind them all.
    pub function: FunctionId,
    /// What it is called.
    pub name: String,
    /// Its file, or its binary, and its line: `report.js:10`.
    pub place: String,
    /// What it used in a second of the older recording, or its share of it, from 0 to 1.
    pub before: f64,
    /// The same of the newer one.
    pub now: f64,
    /// more, less, new, gone; unknown where noise is not known.
    pub verdict: &'static str,
    /// `−0.31 cores, 0.35 → 0.04`
    pub text: String,
}

/// Compares two recordings in every way.
pub fn compare_all(before: &Profile, now: &Profile) -> Comparisons {
    let of = |compared, measure| compare(before, now, compared, measure);
    Comparisons {
        loops: of(Compared::Loops, Measure::Rate),
        threads: of(Compared::Threads, Measure::Rate),
        loop_shares: of(Compared::Loops, Measure::Share),
        thread_shares: of(Compared::Threads, Measure::Share),
    }
}

/// Compares two recordings. Where they have no unit of a rate in common, it compares shares.
pub fn compare(
    before: &Profile,
    now: &Profile,
    compared: Compared,
    measure: Measure,
) -> Comparison {
    let functions = same::functions(before, now);
    let Sides { before: of_before, now: of_now, are_loops } = sides(before, now, compared);
    let own: Vec<FunctionId> = now.functions().ids().collect();
    let unit = common_unit(&of_before, &of_now);
    let spreads = |measure| {
        let was = Spread::new(&of_before, &functions.of_before, functions.count, measure);
        let is = Spread::new(&of_now, &own, functions.count, measure);
        let was = was.sized_as(&is);
        let is = is.sized_as(&was);
        (was, is)
    };
    let is_noise_known = of_before.is_noise_known() && of_now.is_noise_known();
    let verdict = |was: &Spread, is: &Spread, row| match is_noise_known {
        true => spread::verdict(was, is, row),
        false => Verdict::Unknown,
    };
    let text = match unit {
        Ok(unit) => {
            let (was, is) = spreads(Measure::Rate);
            let all = functions.count;
            words::whole(are_loops, (was.of(all), is.of(all)), verdict(&was, &is, all), unit)
        }
        Err(why) => why.to_owned(),
    };
    let unit = unit.ok().filter(|_| measure == Measure::Rate);
    let (was, is) = spreads(if unit.is_some() { Measure::Rate } else { Measure::Share });
    let mut changes: Vec<Change> = (0..functions.count)
        .filter_map(|row| {
            let (before_value, now_value) = (was.of(row), is.of(row));
            let verdict = verdict(&was, &is, row);
            (verdict != Verdict::Noise && before_value != now_value).then(|| Change {
                function: FunctionId::from_index(row),
                name: functions.text_of(before, now, row, function_words),
                place: functions.text_of(before, now, row, short_place),
                before: before_value,
                now: now_value,
                verdict: verdict.word(),
                text: words::change(verdict, before_value, now_value, unit),
            })
        })
        .collect();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let intro = words::intro(!changes.is_empty(), is_noise_known).to_owned();
    Comparison { are_loops, text, intro, changes }
}

fn size(change: &Change) -> f64 {
    (change.now - change.before).abs()
}

/// The unit of rates that both have, or why there is none.
fn common_unit(before: &Side<'_>, now: &Side<'_>) -> Result<RateUnit, &'static str> {
    match (before.scale(), now.scale()) {
        (Some(was), Some(is)) if was.unit == is.unit => Ok(is.unit),
        (Some(_), Some(_)) => Err(words::OTHER_UNITS),
        _ => Err(words::NO_LENGTH),
    }
}

/// What is compared of both, and whether that is their main loops.
struct Sides<'a> {
    before: Side<'a>,
    now: Side<'a>,
    are_loops: bool,
}

/// The same lane of both, with the threads that are compared.
fn sides<'a>(before: &'a Profile, now: &'a Profile, compared: Compared) -> Sides<'a> {
    let now_lane = main_lane(now);
    let name = now_lane.map(|lane| now.text(lane.name)).unwrap_or_default();
    let same = before.lane_named(name).or_else(|| first_lane(before));
    let before_lane = same.map(|id| before.lane(id));
    // What the page shows of either has no waiting, and then no samples without a stack.
    let waits = |profile: &Profile| profile.stacks().category.contains(&Category::Idle);
    let is_waiting = waits(before) || waits(now);
    let loops = match compared {
        Compared::Loops => now_lane.and_then(|lane| busiest_loop(now, lane)),
        Compared::Threads => None,
    };
    let before_threads = loops.as_ref().map(|_| {
        before_lane.and_then(|lane| busiest_loop(before, lane)).unwrap_or_else(|| mains(before))
    });
    let side = |profile: &'a Profile, lane: Option<&'a Lane>, threads| {
        Side::new(profile, lane, threads, is_waiting)
    };
    let are_loops = loops.is_some();
    Sides {
        before: side(before, before_lane, before_threads),
        now: side(now, now_lane, loops),
        are_loops,
    }
}

fn first_lane(profile: &Profile) -> Option<LaneId> {
    (!profile.lanes().is_empty()).then(|| LaneId::from_index(0))
}

/// The first lane, or where that is empty the first that is not: a loop that only waits has no samples of the CPU.
fn main_lane(profile: &Profile) -> Option<&Lane> {
    let mut lanes = profile.lanes().iter();
    lanes.find(|lane| !lane.samples.is_empty()).or_else(|| profile.lanes().first())
}

fn mains(profile: &Profile) -> Vec<ThreadId> {
    let rows = profile.threads().iter().enumerate();
    let mains = rows.filter(|(_, thread)| thread.role == Role::MainLoop);
    mains.map(|(row, _)| ThreadId::from_index(row)).collect()
}

/// All rows of the main loop with the most weight: a changed name opens a new row. None where no main loop ran.
fn busiest_loop(profile: &Profile, lane: &Lane) -> Option<Vec<ThreadId>> {
    let mut weights = vec![0u64; profile.threads().len()];
    for (row, thread) in lane.samples.thread.iter().enumerate() {
        let stack = lane.samples.stack[row].some();
        let category = stack.map(|stack| profile.stacks().category[stack.index()]);
        if category != Some(Category::Idle) {
            let weight = &mut weights[thread.index()];
            *weight = weight.saturating_add(lane.samples.weight[row]);
        }
    }
    let ran = mains(profile).into_iter().filter(|id| weights[id.index()] > 0);
    let busiest = ran.max_by_key(|id| (weights[id.index()], std::cmp::Reverse(*id)))?;
    let its = profile.thread(busiest);
    let rows = profile.threads().iter().enumerate();
    let same = rows.filter(|(_, thread)| thread.process == its.process && thread.tid == its.tid);
    Some(same.map(|(row, _)| ThreadId::from_index(row)).collect())
}

//! Two recordings against each other: the functions whose share of self time changed, and whether by more than noise.
//! The page has the same rules for ranges that the user picks (`page/src/compute/diff.ts`); a test compares both.

mod same;
mod spread;

use profile::{Category, FunctionId, Lane, LaneId, Profile, Role, ThreadId};
use serde::Serialize;

use crate::text::{length, percent};
use spread::{Side, Spread, Verdict};

/// Whose samples are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The busiest main loop of each: what the page opens on. All threads, where a recording knows no main loop.
    Loops,
    /// All threads.
    Threads,
}

/// What changed from one recording to another.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// What is compared, and whether anything changed beyond noise.
    pub text: String,
    /// The functions whose share changed beyond noise, the largest change first.
    pub changes: Vec<Change>,
}

/// A function whose share changed.
#[derive(Debug, Serialize)]
pub struct Change {
    /// Its row in the newer recording; one that only the older has stands behind them all.
    pub function: FunctionId,
    /// What it is called.
    pub name: String,
    /// Its share of the older recording, from 0 to 1.
    pub before: f64,
    /// Its share of the newer one.
    pub now: f64,
    /// more, less, new, gone; unknown where noise cannot be told.
    pub verdict: &'static str,
    /// `+3.1 points, 1.0 % → 4.1 %`
    pub text: String,
}

/// Compares two recordings; `before_name` is what the older one is called.
pub fn compare(
    before: &Profile,
    now: &Profile,
    before_name: &str,
    compared: Compared,
) -> Comparison {
    let functions = same::functions(before, now);
    let [of_before, of_now] = sides(before, now, compared);
    let own: Vec<FunctionId> = now.functions().ids().collect();
    let was = Spread::new(&of_before, &functions.of_before, functions.count);
    let is = Spread::new(&of_now, &own, functions.count);
    let is_told = [&of_before, &of_now].iter().all(|side| side.is_told());
    let mut changes: Vec<Change> = (0..functions.count)
        .filter_map(|row| {
            let (before_share, now_share) = (was.share(row), is.share(row));
            let verdict = if is_told { spread::verdict(&was, &is, row) } else { Verdict::Unknown };
            (verdict != Verdict::Noise && before_share != now_share).then(|| Change {
                function: FunctionId::from_index(row),
                name: functions.name(before, now, row),
                before: before_share,
                now: now_share,
                verdict: verdict.word(),
                text: change_words(verdict, before_share, now_share),
            })
        })
        .collect();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let most = match changes.first() {
        None => "no function changed by more than noise.",
        Some(_) if is_told => "the largest changes beyond noise:",
        Some(_) => "the largest changes, noise unknown:",
    };
    let lengths = [now, before].map(|profile| length(profile.duration_ns()));
    let [now_length, before_length] = lengths;
    let text = format!(
        "Self time as shares: the whole recording ({now_length}) against {before_name} ({before_length}); {most}"
    );
    Comparison { text, changes }
}

fn size(change: &Change) -> f64 {
    (change.now - change.before).abs()
}

fn change_words(verdict: Verdict, before: f64, now: f64) -> String {
    let share = |share: f64| match share {
        share if share > 0.0 && share < 0.0005 => "<0.1 %".to_owned(),
        share => percent(share),
    };
    match verdict {
        Verdict::New => format!("new, {}", share(now)),
        Verdict::Gone => format!("gone, {}", share(before)),
        _ => {
            let sign = if now > before { "+" } else { "−" };
            let points = (now - before).abs() * 100.0;
            format!("{sign}{points:.1} points, {} → {}", share(before), share(now))
        }
    }
}

/// The same lane of both, with the threads that are compared.
fn sides<'a>(before: &'a Profile, now: &'a Profile, compared: Compared) -> [Side<'a>; 2] {
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
    [side(before, before_lane, before_threads), side(now, now_lane, loops)]
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

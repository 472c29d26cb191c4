//! The async functions that are suspended, in a dump: where a service waits that does nothing. They are listed by
//! place, and as chains: which function awaits which.

use live::SuspendedFunctions;
use profile::{Profile, StackId};
use serde::Serialize;
use symbols::Namer;
use trace::{Address, AwaitEnd, Context, Sample, Sink};

use super::{FrameRow, frame_row, frame_rows};

/// The async functions that are suspended.
#[derive(Debug, Serialize)]
pub(super) struct Awaiting {
    /// How many there are; each counts once.
    pub(super) functions: u32,
    /// How many of them wait for something else than another of them.
    pub(super) innermost: u32,
    /// Where they wait.
    pub(super) places: Vec<Place>,
    /// Which function awaits which.
    pub(super) chains: Vec<Chain>,
    /// How much memory was searched, and whether that was not all.
    pub(super) searched_bytes: u64,
    pub(super) is_cut: bool,
}

/// A place where functions wait.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    pub(super) count: u32,
    #[serde(flatten)]
    pub(super) frame: FrameRow,
}

/// Functions that await each other at the same places.
#[derive(Debug, Serialize)]
pub(super) struct Chain {
    /// How many such chains there are.
    pub(super) count: u32,
    /// The innermost first.
    pub(super) frames: Vec<FrameRow>,
    /// What is above the last.
    pub(super) above: Above,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Above {
    /// No function awaits it.
    Nothing,
    /// Several functions await the same promise.
    Several,
    /// More functions than are followed, or these again.
    More,
    /// What is there could not be read.
    Unknown,
}

impl Above {
    fn of(end: u8) -> Self {
        match AwaitEnd::of(u64::from(end)) {
            Some(AwaitEnd::Root) => Self::Nothing,
            Some(AwaitEnd::Several) => Self::Several,
            Some(AwaitEnd::TooLong) => Self::More,
            Some(AwaitEnd::Late | AwaitEnd::Unread) | None => Self::Unknown,
        }
    }
}

impl Awaiting {
    /// Names what was found, with a namer that knows the frames.
    pub(super) fn name(pid: u32, found: &SuspendedFunctions, mut namer: Namer) -> Self {
        let places = found.places.iter().map(|(row, _)| std::slice::from_ref(row));
        let chains = found.chains.iter().map(|chain| &chain.rows[..]);
        // The time of each is its number, so that they stay in order.
        for (number, rows) in places.chain(chains).enumerate() {
            add(pid, &mut namer, number as u64, rows);
        }
        let profile = namer.finish();
        let mut stacks = stacks(&profile);
        let place = |(_, count): &(u32, u32)| {
            Some(Place { count: *count, frame: frame_row(&profile, stacks.next()?) })
        };
        let places = found.places.iter().filter_map(place).collect();
        let chain = |chain: &live::WaitingChain| {
            let (frames, above) = (frame_rows(&profile, stacks.next()?), Above::of(chain.end));
            Some(Chain { count: chain.count, frames, above })
        };
        Self {
            functions: found.functions,
            innermost: found.waiting,
            places,
            chains: found.chains.iter().filter_map(chain).collect(),
            searched_bytes: found.bytes,
            is_cut: found.is_cut,
        }
    }
}

fn add(pid: u32, namer: &mut Namer, number: u64, rows: &[u32]) {
    let address = |row: &u32| Address { value: u64::from(*row), context: Context::JavaScript };
    let chain: Vec<Address> = rows.iter().map(address).collect();
    namer.sample(&Sample {
        event: 0,
        time_ns: number,
        pid: Some(pid),
        tid: Some(pid),
        cpu: None,
        period: 1,
        chain: &chain,
        user_registers: None,
        user_stack: &[],
        user_stack_is_full: false,
        awaits: None,
    });
}

/// The stacks of all samples, in order.
fn stacks(profile: &Profile) -> impl Iterator<Item = StackId> + '_ {
    let lane = profile.lanes().first();
    let samples =
        lane.into_iter().flat_map(|lane| lane.samples.ids().map(|id| lane.samples.row(id)));
    samples.map(|sample| sample.stack)
}

//! What perf writes beside the records: the machine, the names of the events, build ids. In the file form it
//! stands behind the data, in the pipe form in records of its own.

use trace::{About, BuildId};

use super::bytes::{Bytes, until_nul};

const BUILD_ID: u32 = 2;
const HOSTNAME: u32 = 3;
const OS_RELEASE: u32 = 4;
const ARCH: u32 = 6;
const COMMAND_LINE: u32 = 11;
const EVENT_DESCRIPTIONS: u32 = 12;
const CLOCK_DATA: u32 = 29;

/// In a build id's flags: its length is written behind its bytes.
const HAS_SIZE: u16 = 1 << 15;
const BUILD_ID_BYTES: usize = 20;
const MOST_WORDS: u32 = 10_000;

/// One feature, understood.
pub(super) enum Feature<'a> {
    About(About<'a>),
    CommandLine(Vec<u8>),
    BuildIds(Bytes<'a>),
    Events(Bytes<'a>),
}

/// Reads a feature; `None` for one that we do not care for, and for one that is damaged.
pub(super) fn parse(number: u32, mut bytes: Bytes<'_>) -> Option<Feature<'_>> {
    let about = About::default();
    Some(match number {
        BUILD_ID => Feature::BuildIds(bytes),
        EVENT_DESCRIPTIONS => Feature::Events(bytes),
        HOSTNAME => Feature::About(About { host: Some(bytes.counted_text()?), ..about }),
        OS_RELEASE => Feature::About(About { os_release: Some(bytes.counted_text()?), ..about }),
        ARCH => Feature::About(About { arch: Some(bytes.counted_text()?), ..about }),
        COMMAND_LINE => {
            let count = bytes.u32()?.min(MOST_WORDS);
            let words: Vec<&[u8]> = (0..count).map_while(|_| bytes.counted_text()).collect();
            Feature::CommandLine(words.join(&b' '))
        }
        CLOCK_DATA => {
            let (_version, _clock) = (bytes.u32()?, bytes.u32()?);
            Feature::About(About { wall_clock: Some((bytes.u64()?, bytes.u64()?)), ..about })
        }
        _ => return None,
    })
}

/// A file and its build id: the body of a record, and its flags.
pub(super) fn build_id(misc: u16, mut body: Bytes<'_>) -> Option<(&[u8], BuildId<'_>)> {
    let _pid = body.u32()?;
    let field = body.take(BUILD_ID_BYTES + 4)?;
    let size =
        if misc & HAS_SIZE != 0 { usize::from(field[BUILD_ID_BYTES]) } else { BUILD_ID_BYTES };
    let id = field.get(..size.min(BUILD_ID_BYTES)).filter(|id| id.iter().any(|byte| *byte != 0))?;
    Some((until_nul(body.rest()), BuildId(id)))
}

/// The records inside the feature of build ids: their flags and bodies.
pub(super) fn build_ids<'a>(mut bytes: Bytes<'a>, mut each: impl FnMut(u16, Bytes<'a>)) {
    while let Some(record) = next_record(&mut bytes) {
        each(record.0, record.1);
    }
}

fn next_record<'a>(bytes: &mut Bytes<'a>) -> Option<(u16, Bytes<'a>)> {
    let (_kind, misc, size) = (bytes.u32()?, bytes.u16()?, bytes.u16()?);
    let body = bytes.take(usize::from(size).checked_sub(8)?)?;
    Some((misc, bytes.with(body)))
}

/// The names of the events in their order, each with its ids.
pub(super) fn events<'a>(
    mut bytes: Bytes<'a>,
    mut each: impl FnMut(u32, &'a [u8], Bytes<'a>),
) -> Option<()> {
    let (count, attribute_size) = (bytes.u32()?, bytes.u32()?);
    for row in 0..count {
        bytes.take(attribute_size as usize)?;
        let ids = bytes.u32()?;
        let name = bytes.counted_text()?;
        let ids = bytes.take_words(u64::from(ids))?;
        each(row, name, bytes.with(ids));
    }
    Some(())
}

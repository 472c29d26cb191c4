//! The event whose samples are sleeping stacks. The kernel does not know it: a recorder writes such samples itself.

use sys::perf::{ATTRIBUTE_BYTES, Attribute};

use crate::clock::{CLOCK_MONOTONIC, CPU_CLOCK, SAMPLE_TYPE, SOFTWARE, flag};
use crate::stream;

/// The number that its samples carry. The kernel counts its own from 1.
pub const WAITS_ID: u64 = 0x4e53_0000_7761_6974;

/// What describes the event, after the head: its samples are nanoseconds off the CPU.
pub fn waits_event(name: &str) -> Vec<u8> {
    let attribute = Attribute {
        kind: SOFTWARE,
        size: ATTRIBUTE_BYTES,
        config: CPU_CLOCK,
        frequency: 1,
        sample_type: SAMPLE_TYPE,
        flags: flag::SAMPLE_ID_ALL | flag::USE_CLOCK,
        clock: CLOCK_MONOTONIC,
        ..Attribute::default()
    };
    let mut bytes = stream::attribute(&attribute, &[WAITS_ID]);
    bytes.extend(stream::event_name(WAITS_ID, name));
    bytes
}

//! Records that have just been written, handed over at once, or as soon as they are in order: a caller that wants
//! them at once cannot wait until there is a file.

use trace::Sink;

use super::batches::each_record;
use super::bytes::Order;
use super::deliver::{Deliver, Kept, Record, kind};
use super::rounds::Rounds;

/// What is known of the events of a recording that is being made here.
pub struct Live {
    kept: Kept,
}

impl Default for Live {
    fn default() -> Self {
        let mut kept = Kept::default();
        kept.events.order = Order::NATIVE;
        Self { kept }
    }
}

impl Live {
    /// Hands whole records of this machine's byte order to a sink.
    pub fn take(&mut self, records: &[u8], sink: &mut dyn Sink) {
        let mut deliver = Deliver::with(std::mem::take(&mut self.kept), sink);
        each_record(Order::NATIVE, records, |record| deliver.record(record));
        self.kept = deliver.keep();
    }
}

/// The same in the order of their times: records of several CPUs come one CPU after the other.
#[derive(Default)]
pub struct InOrder {
    live: Live,
    waiting: Rounds,
}

impl InOrder {
    /// Takes whole records of this machine's byte order. Those without a time go to the sink at once.
    pub fn take(&mut self, records: &[u8], sink: &mut dyn Sink) {
        let Self { live, waiting } = self;
        each_record(Order::NATIVE, records, |bytes| {
            let Some(record) = Record::parse(Order::NATIVE, bytes) else { return };
            let has_time = record.kind < kind::USER_START;
            match live.kept.events.time_of(&record) {
                time_ns if has_time && !matches!(time_ns, 0 | u64::MAX) => {
                    waiting.add(time_ns, bytes, |record| live.take(record, sink));
                }
                _ => live.take(bytes, sink),
            }
        });
    }

    /// Hands over everything up to a time: nothing older is expected any more.
    pub fn flush_until(&mut self, time_ns: u64, sink: &mut dyn Sink) {
        let Self { live, waiting } = self;
        waiting.flush_until(time_ns, |record| live.take(record, sink));
    }
}

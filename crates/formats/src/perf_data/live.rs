//! Records that have just been written, handed over at once: whoever wants them while they are fresh cannot wait until
//! they are in order.

use trace::Sink;

use super::bytes::Order;
use super::deliver::{Deliver, Kept};
use super::tell::each_record;

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

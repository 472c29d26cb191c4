//! Between the reader, which puts records in order, and the far end, which understands them: the two can work on
//! two cores.

use std::sync::mpsc::{channel, sync_channel};

use trace::Sink;

use super::bytes::Order;
use super::deliver::Deliver;
use super::input::{RECORD_HEADER_BYTES, record_size};

/// What is told at once: large enough to make a message cheap, small enough to stay in a core's cache.
const BATCH_BYTES: usize = 256 << 10;
/// How far the reader may be ahead.
const MOST_BATCHES: usize = 16;

/// What the reader tells, in the order in which it holds.
pub(super) enum Told {
    Order(Order),
    /// An event of the file form, and its ids.
    Attribute {
        attribute: Vec<u8>,
        ids: Vec<u8>,
    },
    /// Whole records, one behind the other.
    Records(Vec<u8>),
    /// One of the things that stand behind the data.
    Feature(u32, Vec<u8>),
    Damage(String),
}

/// Collects records into batches.
pub(super) struct Teller<'a> {
    batch: Vec<u8>,
    /// Takes what is told, and gives back memory that is free again.
    tell: &'a mut dyn FnMut(Told) -> Option<Vec<u8>>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(tell: &'a mut dyn FnMut(Told) -> Option<Vec<u8>>) -> Self {
        Self { batch: Vec::new(), tell }
    }

    pub(super) fn record(&mut self, record: &[u8]) {
        self.batch.extend_from_slice(record);
        if self.batch.len() >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Tells something else, behind all records so far.
    pub(super) fn tell(&mut self, told: Told) {
        self.flush();
        (self.tell)(told);
    }

    pub(super) fn flush(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.batch = (self.tell)(Told::Records(batch)).unwrap_or_default();
            self.batch.clear();
        }
    }
}

/// Calls `each` for every whole record at the start of a buffer; returns how much they take.
pub(super) fn each_record(order: Order, bytes: &[u8], mut each: impl FnMut(&[u8])) -> usize {
    let mut at = 0;
    while let size = usize::from(record_size(order, &bytes[at..]))
        && size >= RECORD_HEADER_BYTES
        && let Some(record) = bytes.get(at..at + size)
    {
        each(record);
        at += size;
    }
    at
}

/// Runs the reader on this thread, and the far end on this one, too.
pub(super) fn on_one_thread(sink: &mut dyn Sink, read: impl FnOnce(&mut Teller<'_>)) {
    let mut deliver = Deliver::new(sink);
    read(&mut Teller::new(&mut |told| deliver.take(told)));
    deliver.finish();
}

/// Runs the reader on this thread, and the far end beside it.
pub(super) fn on_two_threads(sink: &mut (dyn Sink + Send), read: impl FnOnce(&mut Teller<'_>)) {
    let (sender, receiver) = sync_channel(MOST_BATCHES);
    let (give_back, free) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut deliver = Deliver::new(sink);
            for told in receiver {
                if let Some(bytes) = deliver.take(told) {
                    // The reader may have ended.
                    let _ = give_back.send(bytes);
                }
            }
            deliver.finish();
        });
        // The far end only ends by a panic, which the scope passes on.
        let mut tell = move |told| sender.send(told).ok().and_then(|()| free.try_recv().ok());
        read(&mut Teller::new(&mut tell));
    });
}

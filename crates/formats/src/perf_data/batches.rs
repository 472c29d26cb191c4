//! Between the reader, which puts records in order, and the consumer, which decodes them: the two can work on
//! two cores.

use std::sync::mpsc::{channel, sync_channel};

use trace::Sink;

use super::bytes::Order;
use super::deliver::Deliver;
use super::input::{RECORD_HEADER_BYTES, record_size};

/// The size of a batch: large enough to make a message cheap, small enough to stay in a core's cache.
const BATCH_BYTES: usize = 256 << 10;
/// How far the reader may be ahead.
const MOST_BATCHES: usize = 16;

/// What the reader sends, in the order in which it applies.
pub(super) enum Message {
    Order(Order),
    /// An event of the file form, and its ids.
    Attribute {
        attribute: Vec<u8>,
        ids: Vec<u8>,
    },
    /// Whole records, one after the other.
    Records(Vec<u8>),
    /// One of perf's features, which follow the data.
    Feature(u32, Vec<u8>),
    Damage(String),
}

/// Collects records into batches, and sends these to the consumer.
pub(super) struct Batches<'a> {
    batch: Vec<u8>,
    /// Sends to the consumer, and returns memory that is free again.
    send: &'a mut dyn FnMut(Message) -> Option<Vec<u8>>,
}

impl<'a> Batches<'a> {
    pub(super) fn new(send: &'a mut dyn FnMut(Message) -> Option<Vec<u8>>) -> Self {
        Self { batch: Vec::new(), send }
    }

    pub(super) fn record(&mut self, record: &[u8]) {
        self.batch.extend_from_slice(record);
        if self.batch.len() >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Sends something else, after all records so far.
    pub(super) fn send(&mut self, message: Message) {
        self.flush();
        (self.send)(message);
    }

    pub(super) fn flush(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.batch = (self.send)(Message::Records(batch)).unwrap_or_default();
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

/// Runs the reader and the consumer on this thread.
pub(super) fn on_one_thread(sink: &mut dyn Sink, read: impl FnOnce(&mut Batches<'_>)) {
    let mut deliver = Deliver::new(sink);
    read(&mut Batches::new(&mut |message| deliver.take(message)));
    deliver.finish();
}

/// Runs the reader on this thread, and the consumer on another.
pub(super) fn on_two_threads(sink: &mut (dyn Sink + Send), read: impl FnOnce(&mut Batches<'_>)) {
    let (sender, receiver) = sync_channel(MOST_BATCHES);
    let (give_back, free) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut deliver = Deliver::new(sink);
            for message in receiver {
                if let Some(bytes) = deliver.take(message) {
                    // The reader may have ended.
                    let _ = give_back.send(bytes);
                }
            }
            deliver.finish();
        });
        // The consumer only ends early by a panic, which the scope passes on.
        let mut send = move |message| sender.send(message).ok().and_then(|()| free.try_recv().ok());
        read(&mut Batches::new(&mut send));
    });
}

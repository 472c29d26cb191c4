//! Records become parts of a file, about twice a second: they wait until they are in order and until what they need has
//! come, then they are named. A part that was handed over is finished: any beginning of the file can be opened.

use std::io;
use std::time::{Duration, Instant};

use formats::perf_data::InOrder;
use symbols::{GrowingNamer, Sources};

/// How often a part is made. With the time that records wait, a recorder that is killed loses at most a second.
const PAUSE: Duration = Duration::from_millis(500);
/// How long records wait: for those of other CPUs, for perf maps, and for the texts of their scripts.
const HOLD_NS: u64 = 400_000_000;

/// What such a profile is called.
const FORMAT: &str = "recorded by perf events";

/// See the module's text.
pub struct Chunks {
    order: InOrder,
    namer: GrowingNamer,
    next: Instant,
}

impl Chunks {
    /// Begins.
    pub fn new(sources: Sources) -> Self {
        let (order, namer) = (InOrder::default(), GrowingNamer::new(sources, FORMAT));
        Self { order, namer, next: Instant::now() + PAUSE }
    }

    /// Where names come from, and what takes generated code.
    pub fn namer(&mut self) -> &mut GrowingNamer {
        &mut self.namer
    }

    /// Takes whole records.
    pub fn take(&mut self, records: &[u8]) {
        self.order.take(records, self.namer.sink());
    }

    /// Whether it is time for the next part.
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// The next part of the file, with all that is old enough.
    pub(super) fn next(&mut self) -> io::Result<Vec<u8>> {
        self.next = Instant::now() + PAUSE;
        self.until(sys::clock::monotonic_ns().saturating_sub(HOLD_NS))
    }

    /// The next part of the file, with all up to a time.
    pub fn until(&mut self, time_ns: u64) -> io::Result<Vec<u8>> {
        self.namer.refresh();
        self.order.flush_until(time_ns, self.namer.sink());
        self.namer.chunk(Some(time_ns))
    }

    /// The last part, with all that is left.
    pub fn finish(&mut self) -> io::Result<Vec<u8>> {
        self.namer.refresh();
        self.order.flush_until(u64::MAX, self.namer.sink());
        self.namer.chunk(None)
    }

    /// Whether there is no memory for more.
    pub(super) fn is_full(&self) -> bool {
        self.namer.is_full()
    }
}

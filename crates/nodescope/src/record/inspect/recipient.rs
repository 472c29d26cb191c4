//! Takes what a session reports: chunks go to OUT.part, the number of samples to the line of progress, the rest is
//! printed.

use std::time::{Duration, Instant};

use live::inspected::{News, Recipient};

use super::messages;
use crate::cli;
use crate::failure::warn;
use crate::record::progress::Progress;
use crate::record::spool::Spool;

/// A recording that is written.
pub(super) struct Writing<'a> {
    arguments: &'a cli::Record,
    spool: Spool,
    progress: Progress,
    start: Instant,
}

impl<'a> Writing<'a> {
    /// It will take so long, if that is known.
    pub(super) fn new(arguments: &'a cli::Record, spool: Spool, whole: Option<Duration>) -> Self {
        Self { arguments, spool, progress: Progress::new(whole), start: Instant::now() }
    }

    /// What was written.
    pub(super) fn finish(self) -> Spool {
        self.progress.clear();
        self.spool
    }

    /// Makes room for a sentence.
    fn print(&self, print: impl FnOnce()) {
        self.progress.clear();
        print();
    }
}

impl Recipient for Writing<'_> {
    fn receive(&mut self, news: News<'_>) {
        match news {
            News::Chunk(bytes) => self.spool.append(bytes),
            News::Samples(samples) => self.progress.show(self.start.elapsed(), samples),
            News::Opening { pid, time } => self.print(|| messages::print_opening(pid, time)),
            News::OpensLate { pid } => self.print(|| messages::print_opens_late(pid)),
            News::StillOpen { pid, port } => self.print(|| messages::print_still_open(pid, port)),
            News::Starting(start) => {
                let (frequency, calls) = (self.arguments.frequency, self.arguments.way.calls);
                self.print(|| messages::print_start(&start, frequency, calls));
            }
            News::Ended { name, pid } => self.print(|| messages::print_ended(name, pid)),
            News::Failed(error) => self.print(|| warn(messages::failure(error).sentence())),
        }
    }

    fn wants_end(&self) -> bool {
        sys::signals::ended() || self.spool.is_full()
    }
}

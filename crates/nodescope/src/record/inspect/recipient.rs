//! Takes what a session tells: chunks go to OUT.part, the number of samples to the line of progress, the rest is said.

use std::time::{Duration, Instant};

use live::inspected::{News, Recipient};

use super::say;
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
    fn say(&self, say: impl FnOnce()) {
        self.progress.clear();
        say();
    }
}

impl Recipient for Writing<'_> {
    fn receive(&mut self, news: News<'_>) {
        match news {
            News::Chunk(bytes) => self.spool.append(bytes),
            News::Samples(samples) => self.progress.show(self.start.elapsed(), samples),
            News::Opening { pid, time } => self.say(|| say::opening(pid, time)),
            News::OpensLate { pid } => self.say(|| say::opens_late(pid)),
            News::StillOpen { pid, port } => self.say(|| say::still_open(pid, port)),
            News::Starting(start) => {
                let (frequency, calls) = (self.arguments.frequency, self.arguments.way.calls);
                self.say(|| say::start(&start, frequency, calls));
            }
            News::Ended { name, pid } => self.say(|| say::ended(name, pid)),
            News::Failed(error) => self.say(|| warn(say::failure(error).sentence())),
        }
    }

    fn wants_end(&self) -> bool {
        sys::signals::ended() || self.spool.is_full()
    }
}

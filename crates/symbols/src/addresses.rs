//! What readers ask for names: [`Sources`] answer, with a [`Namer`] for a whole recording.

use naming::addresses::{AddressNamer, Feed, Library, LibraryNamer, NoNames};
use profile::{Budget, Profile};

use crate::images::name_library;
use crate::namer::Namer;
use crate::sources::Sources;

impl AddressNamer for Sources {
    fn profile_of(self: Box<Self>, format: &str, budget: &Budget, feed: Feed<'_>) -> Profile {
        let mut namer = Namer::new(*self, format).clip_far_times().within(budget);
        feed(&mut namer);
        namer.finish()
    }
}

impl LibraryNamer for Sources {
    fn name_library(
        &self,
        library: &Library,
        places: &[u64],
        take: &mut dyn FnMut(usize, &str),
    ) -> Result<(), NoNames> {
        name_library(self, library, places, take)
    }
}

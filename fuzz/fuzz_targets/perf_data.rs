//! perf.data, without any file to name its addresses.
#![no_main]

use std::num::NonZero;

use symbols::{Namer, Sources};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::perf_data::looks_like(bytes);
    let mut namer = Namer::new(Sources::nowhere(), "perf.data");
    formats::perf_data::read(bytes, NonZero::<usize>::MIN, &mut namer);
    examine::examine(&namer.finish());
});

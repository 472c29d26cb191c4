//! `perf script` text.
#![no_main]

use std::num::NonZero;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::perf_script::looks_like(bytes);
    let profile =
        formats::perf_script::read(bytes, NonZero::<usize>::MIN, &profile::Budget::default());
    examine::examine(&profile);
    // Compression is slow: one input in sixteen is enough.
    if bytes.len() % 16 == 0 {
        examine::survives_our_file(&profile);
    }
});

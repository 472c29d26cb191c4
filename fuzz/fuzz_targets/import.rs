//! Whatever somebody was handed: the sniffing, gzip and zstd, and all readers behind them.
#![no_main]

use std::num::NonZero;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match formats::import(bytes, NonZero::<usize>::MIN) {
        Ok(profile) => examine::examine(&profile),
        // What a person reads must be made of something.
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

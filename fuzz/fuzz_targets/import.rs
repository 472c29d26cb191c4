//! Any file that a user was given: the sniffing, gzip and zstd, and all readers behind them.
#![no_main]

use std::num::NonZero;

use formats::ImportOptions;
use symbols::Sources;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let options =
        ImportOptions { threads: NonZero::<usize>::MIN, namer: Box::new(Sources::nowhere()) };
    match formats::import(bytes, options) {
        Ok(profile) => examine::examine(&profile),
        // Every error must have a message.
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

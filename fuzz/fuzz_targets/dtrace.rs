//! DTrace's stack text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::dtrace::looks_like(bytes);
    examine::examine(&formats::dtrace::read(bytes, &profile::Budget::default()));
});

//! pprof: every view takes what was read, and what is written is read again without damage.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::pprof::looks_like(bytes);
    let profile = formats::pprof::read(bytes, &profile::Budget::default());
    examine::examine(&profile);
    examine::is_exchanged(&profile);
});

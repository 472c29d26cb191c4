//! Traces of Chrome and Node.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::trace_events::looks_like(bytes);
    examine::examine(&formats::trace_events::read(bytes, &profile::Budget::default()));
});

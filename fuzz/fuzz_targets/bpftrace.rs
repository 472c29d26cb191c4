//! bpftrace's maps of stacks.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::bpftrace::looks_like(bytes);
    examine::examine(&formats::bpftrace::read(bytes, &profile::Budget::default()));
});

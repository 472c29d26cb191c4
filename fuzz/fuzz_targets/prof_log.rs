//! Logs of `node --prof`, and the JSON of `node --prof-process --preprocess`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::prof_log::looks_like(bytes);
    if formats::prof_log::looks_like_preprocessed(bytes) {
        examine::examine(&formats::prof_log::read_preprocessed(bytes, &profile::Budget::default()));
    } else {
        examine::examine(&formats::prof_log::read(
            bytes,
            &profile::Budget::default(),
            &symbols::Sources::nowhere(),
        ));
    }
});

//! Folded stacks: what is written is read again, to the letter.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::folded::looks_like(bytes);
    let profile = formats::folded::read(bytes, &profile::Budget::default());
    examine::examine(&profile);
    let text = examine::fold(&profile, false);
    let again = formats::folded::read(&*text, &profile::Budget::default());
    let refolded = examine::fold(&again, false);
    assert_eq!(String::from_utf8_lossy(&refolded), String::from_utf8_lossy(&text));
});

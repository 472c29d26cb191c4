//! .cpuprofile: every view takes what was read, and what is written is read again without damage.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::cpuprofile::looks_like(bytes);
    let profile = formats::cpuprofile::read(bytes, &profile::Budget::default());
    examine::examine(&profile);
    let mut text = Vec::new();
    if formats::cpuprofile::write(&profile, &views::Selection::default(), &mut text).is_ok() {
        let again = formats::cpuprofile::read(&*text, &profile::Budget::default());
        assert_eq!(again.meta().losses.damage, Vec::<String>::new());
    }
});

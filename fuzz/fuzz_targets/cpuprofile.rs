//! .cpuprofile and traces: every view takes what was read, and what is written is read again without damage.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = formats::cpuprofile::looks_like(bytes);
    let _ = formats::trace_events::looks_like(bytes);
    for profile in [formats::cpuprofile::read(bytes), formats::trace_events::read(bytes)] {
        examine::examine(&profile);
        let mut text = Vec::new();
        if formats::cpuprofile::write(&profile, &views::Selection::default(), &mut text).is_ok() {
            let again = formats::cpuprofile::read(&*text);
            assert_eq!(again.meta().losses.damage, Vec::<String>::new());
        }
    }
});

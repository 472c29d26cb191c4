//! Any bytes as speedscope JSON: what is read is whole, and every exchange format can write it.

#![no_main]

use formats::{firefox, pprof, speedscope};
use libfuzzer_sys::fuzz_target;
use views::Selection;

fuzz_target!(|bytes: &[u8]| {
    let profile = speedscope::read(bytes);
    assert_eq!(profile.check(), Ok(()));
    let selection = Selection::default();
    let _ = speedscope::write(&profile, &selection, std::io::sink());
    let _ = pprof::write(&profile, &selection, std::io::sink());
    let _ = firefox::write(&profile, &selection, std::io::sink());
});

//! What must hold of every profile, whatever bytes it was made of: it is whole, the views add it up, and the
//! writers take it. Each fuzz target reads bytes with one reader and hands the result here.

use std::io::Read;

use formats::{firefox, folded, pprof, speedscope};
use profile::{Budget, Profile, file};
use views::{Direction, Grouping, Selection, TopBy, call_tree, top, weigh};

/// Panics when a profile breaks one of these rules.
pub fn examine(profile: &Profile) {
    assert_eq!(profile.check(), Ok(()));
    let selection = Selection::default();
    let weights = weigh(profile, &selection);
    let tree = call_tree(profile, &weights, &selection, Direction::FromRoots, Grouping::ThreadName);
    assert_eq!(tree.nodes[0].total_weight, weights.total);
    for row in top(profile, &weights, &selection, TopBy::Function) {
        assert!(row.self_weight <= row.total_weight && row.total_weight <= weights.total);
    }
    fold(profile, true);
}

/// The folded stacks of a profile, with all marks or without.
pub fn fold(profile: &Profile, marked: bool) -> Vec<u8> {
    let selection = Selection::default();
    let weights = weigh(profile, &selection);
    let options = folded::Options {
        pid: marked,
        tid: marked,
        kernel: marked,
        jit: marked,
        addresses: marked,
    };
    let mut out = Vec::new();
    folded::write(profile, &weights, &selection, &options, &mut out)
        .expect("a Vec takes everything");
    out
}

/// A profile that is written to our own file and read again is the same.
pub fn survives_our_file(profile: &Profile) {
    let mut bytes = Vec::new();
    file::write(profile, &mut bytes).expect("a Vec takes everything");
    assert!(file::read(&bytes).is_ok_and(|again| again == *profile), "our own file changed it");
}

/// The exchange formats take a profile, and what they write is read again without damage.
pub fn is_exchanged(profile: &Profile) {
    let selection = Selection::default();
    let mut text = Vec::new();
    speedscope::write(profile, &selection, &mut text).expect("a Vec takes everything");
    // A profile without a lane is nothing to write.
    if !text.is_empty() {
        assert_eq!(
            speedscope::read(&*text, &Budget::default()).meta().losses.damage,
            Vec::<String>::new()
        );
    }
    let (mut packed, mut message) = (Vec::new(), Vec::new());
    pprof::write(profile, &selection, &mut packed).expect("a Vec takes everything");
    flate2::read::GzDecoder::new(&*packed).read_to_end(&mut message).expect("our own gzip");
    assert_eq!(
        pprof::read(&*message, &Budget::default()).meta().losses.damage,
        Vec::<String>::new()
    );
    firefox::write(profile, &selection, std::io::sink()).expect("a sink takes everything");
}

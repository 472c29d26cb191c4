//! How many samples may be of a function that V8 had inlined, where its profiler names the caller.

use profile::{Inlined, Profile};
use serde::Serialize;

use crate::text::percent;
use crate::{Selection, selected_rows, share};

/// Less is not worth a sentence.
const LITTLE: f64 = 0.005;

/// Shares of the busy samples of the whole recording, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct InlinedRow {
    /// Their function was found by its lines.
    pub found: f64,
    /// They count as the caller's, and may be of a function that it calls.
    pub uncertain: f64,
    /// The same, because the script's text is not known.
    pub unchecked: f64,
}

/// What the recording says of it.
pub fn row(profile: &Profile) -> InlinedRow {
    let Inlined { found, uncertain, unchecked } = profile.meta().losses.inlined;
    let busy = Selection { busy_only: true, ..Selection::default() };
    let busy = selected_rows(profile, &busy).count() as u64;
    let part = |samples: u64| share(samples, busy).min(1.0);
    InlinedRow { found: part(found), uncertain: part(uncertain), unchecked: part(unchecked) }
}

/// The share that may be wrong: the first thing to know.
pub(super) fn doubt(row: &InlinedRow) -> Option<String> {
    let InlinedRow { uncertain, unchecked, .. } = *row;
    let all = uncertain + unchecked;
    let text = if unchecked > uncertain {
        "the text of their scripts could not be read"
    } else {
        "their lines do not show which"
    };
    (all >= LITTLE).then(|| {
        format!(
            "{} of the samples may belong to a function that the one shown calls, because V8 had inlined it or optimised its loop: {text}. Perf events would show it (--via perf).",
            percent(all)
        )
    })
}

/// The share that was estimated.
pub(super) fn estimate(row: &InlinedRow) -> Option<String> {
    (row.found >= LITTLE).then(|| {
        format!(
            "{} of the samples are in functions that V8 had inlined: their lines show which, and when they ran is estimated within a window.",
            percent(row.found)
        )
    })
}

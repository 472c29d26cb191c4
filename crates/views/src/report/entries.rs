//! What asked for the work, as a sentence.

use super::Mention;
use super::findings::Context;
use super::place_of;
use crate::entries::{EntryGroup, EntryKind, EntryRow};
use crate::text::{of, rough_percent};

/// So many kinds are named; a function only of a kind that has this share.
const MOST_KINDS: usize = 3;
const LEAST_TO_NAME: f64 = 0.1;

/// The sentence, and the functions that it names.
#[derive(Default)]
pub(super) struct Did {
    pub(super) text: Option<String>,
    pub(super) mentions: Vec<Mention>,
}

/// `It did: HTTP requests 81 % (list, catalogue.js:12, 34 %), timers 6 %.`
pub(super) fn did(context: &Context<'_>, groups: &[EntryGroup], whole: &mut Option<&str>) -> Did {
    let is_named = |group: &&EntryGroup| {
        context.is_sure(group.share, context.samples)
            && !matches!(group.kind, EntryKind::NotJavaScript | EntryKind::Other)
    };
    let mut did = Did::default();
    let parts: Vec<String> = groups
        .iter()
        .filter(is_named)
        .take(MOST_KINDS)
        .map(|group| kind(context, group, whole, &mut did.mentions))
        .collect();
    did.text = (!parts.is_empty()).then(|| format!("It did: {}.", parts.join(", ")));
    did
}

fn kind(
    context: &Context<'_>,
    group: &EntryGroup,
    whole: &mut Option<&str>,
    mentions: &mut Vec<Mention>,
) -> String {
    let percent = |share| rough_percent(share, context.samples);
    let kind = format!("{} {}{}", group.kind.many(), percent(group.share), of(whole));
    let first = group.functions.first().filter(|row| row.function.is_some());
    let Some(row) = first.filter(|_| group.share >= LEAST_TO_NAME) else { return kind };
    let words = words(context, row);
    mentions.push(Mention { words: words.clone(), function: row.id });
    match percent(row.share) {
        share if group.functions.len() > 1 => format!("{kind} ({words}, {share})"),
        _ => format!("{kind} ({words})"),
    }
}

/// `list, catalogue.js:12`
fn words(context: &Context<'_>, row: &EntryRow) -> String {
    let place = place_of(row.file.as_deref().map(|file| context.folders.short(file)), row.line);
    if place.is_empty() { row.words() } else { format!("{}, {place}", row.words()) }
}

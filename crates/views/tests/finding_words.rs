//! What findings say beside their rules: advice that fits, nothing that is not known, and the same as numbers.

use profile::{Category, TurnKind};
use views::{Report, Selection, weigh_busy};

use crate::finding_rules::{COPY, LIST, sibling, spread, words};
use crate::service::*;

/// A package with a sample or two is in most recordings.
#[test]
fn a_share_that_may_be_noise_is_not_told() {
    let client: Code = ("send", "/srv/node_modules/amqplib/send.js", 4, Category::Dependency);
    let told = |samples: u64| {
        let service = spread(Service::new(10).watched(9 * SECOND), &[TIMERS, LIST], "", SECOND);
        let service = spread(service, &[TIMERS, client], "amqplib", samples * INTERVAL);
        let profile = service.done();
        let (selection, weights) = weigh_busy(&profile, &Selection::default());
        let closing = Report::without_lists(&profile, &weights, &selection).closing;
        closing.into_iter().filter(|line| line.starts_with("Of ")).collect::<Vec<_>>()
    };
    let own = "Of your own code, list (server.js:10) caused most: ";
    assert_eq!(told(3), [format!("{own}97 % of all CPU time.")]);
    assert_eq!(
        told(20),
        [
            format!("{own}83 % of all CPU time."),
            "Of the npm packages, amqplib caused most: 17 %.".to_owned()
        ],
        "what shares are of is said once"
    );
}

/// Workers that do the same collect in the same rhythm, each at times of its own.
#[test]
fn collections_of_several_workers_have_the_rhythm_of_each() {
    let first = |every_ms: [u64; 4], longest_ms: u64| {
        let mut service = Service::new(30);
        for (worker, every_ms) in (0..4).zip(every_ms) {
            let (with, thread) = sibling(service, 5001 + worker, 28 * SECOND);
            service = with;
            service.main = thread;
            for row in 0..3 {
                let start = (u64::from(worker) * 700 + row * every_ms) * MS;
                let length = if row == 2 { longest_ms } else { 310 } * MS;
                service = service.turn(TurnKind::Turn, start, length, [length, 0, 0]);
                service = service.ran(thread, &[TIMERS, COPY, MARK_COMPACT], start, length);
            }
        }
        words(service)[0].clone()
    };
    assert_eq!(
        first([9_800; 4], 340),
        "Full garbage collections stopped each of 4 event loops every 9.8 s for 310 ms (longest 340 ms): 3.8 s of 4 × 30 s."
    );
    assert_eq!(
        first([9_800; 4], 310),
        "Full garbage collections stopped each of 4 event loops every 9.8 s for 310 ms: 3.7 s of 4 × 30 s."
    );
    assert_eq!(
        first([9_800, 9_800, 9_800, 5_000], 310),
        "Full garbage collections stopped 4 event loops 12 times, 310 ms each: 3.7 s of 4 × 30 s.",
        "one of them has another rhythm"
    );
}

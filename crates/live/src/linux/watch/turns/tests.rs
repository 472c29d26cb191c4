//! Looks at loops that are made up, and the turns that they show.

use super::*;

const MS: u64 = 1_000_000;
/// When all of it happens, in milliseconds.
const START: u64 = 1_000;

fn poll(now: u64, entry: u64, idle: u64, count: u64) -> Look {
    let entry_ns = (START + entry) * MS;
    Look {
        now_ns: (START + now) * MS,
        entry_ns,
        idle_ns: idle * MS,
        count: Some(count),
        ..turn(now, 0, idle, count)
    }
}

fn turn(now: u64, time: u64, idle: u64, count: u64) -> Look {
    Look {
        now_ns: (START + now) * MS,
        entry_ns: 0,
        idle_ns: idle * MS,
        count: Some(count),
        time_ns: (START + time) * MS,
        ..Look::default()
    }
}

/// What is found, in milliseconds since the start.
fn found(looks: &[Look]) -> Vec<(Kind, u64, u64)> {
    let mut turns = Turns::new(START * MS, true);
    for look in looks {
        turns.look(*look);
    }
    turns.finish(0);
    let long = |seen: Seen| match seen {
        Seen::Long(turn) => Some((turn.kind, turn.start_ns / MS - START, turn.end_ns / MS - START)),
        Seen::Quick { .. } => None,
    };
    turns.take().filter_map(long).collect()
}

fn uncounted(looks: &[Look]) -> Vec<Look> {
    looks.iter().map(|look| Look { count: None, ..*look }).collect()
}

#[test]
fn a_turn_reaches_from_poll_to_poll() {
    let looks = [
        poll(0, 0, 10, 5),
        poll(20, 0, 10, 5),
        turn(40, 33, 43, 5),
        turn(60, 33, 43, 5),
        turn(200, 33, 43, 5),
        poll(220, 217, 43, 6),
    ];
    assert_eq!(found(&looks), [(Kind::Turn, 33, 217)]);
    assert_eq!(found(&uncounted(&looks)), [(Kind::Turn, 33, 217)]);
    assert_eq!(
        found(&[poll(0, 0, 10, 5), poll(300, 290, 30, 6)]),
        [(Kind::Turn, 20, 290)],
        "a late look"
    );
}

#[test]
fn a_round_without_a_wait_follows_a_long_turn() {
    let at = |look: Look, time: u64| Look { time_ns: (START + time) * MS, ..look };
    let looks = [poll(0, 0, 10, 5), turn(20, 15, 25, 5), at(poll(240, 218, 25, 7), 217)];
    assert_eq!(found(&looks), [(Kind::Turn, 15, 217)]);
    assert_eq!(found(&[looks[0], looks[2]]), [(Kind::Turn, 15, 217)], "a late look");
    let many = Look { count: Some(40), ..looks[2] };
    assert_eq!(found(&[looks[0], many]), [], "it may be any of them");
}

#[test]
fn quick_turns_are_not_long_however_late_the_look() {
    let late = [poll(0, 0, 10, 5), poll(300, 290, 30, 60)];
    let late = late.map(|look| Look { time_ns: (START + 289) * MS, ..look });
    assert_eq!(found(&late), []);
    assert_eq!(found(&uncounted(&late)), []);
    let busy: Vec<Look> = (0..30).map(|at| turn(at * 20, at * 20, 7, at * 9)).collect();
    assert_eq!(found(&busy), []);
    assert_eq!(found(&uncounted(&busy)), []);
}

#[test]
fn a_loop_that_never_waits_has_turns() {
    let looks = [
        turn(0, 0, 7, 1),
        turn(20, 19, 7, 4),
        turn(40, 25, 7, 9),
        turn(90, 25, 7, 9),
        turn(110, 101, 7, 10),
        turn(130, 128, 7, 30),
    ];
    assert_eq!(found(&looks), [(Kind::Turn, 25, 101)]);
    let mut turns = Turns::new(0, true);
    for look in &looks {
        turns.look(*look);
    }
    turns.finish(0);
    let quick = turns.take().filter(|seen| matches!(seen, Seen::Quick { .. })).count();
    assert_eq!(quick, 2, "before and after it");
}

#[test]
fn two_turns_that_merged_are_distinguished() {
    let looks = [
        poll(0, 0, 10, 5),
        turn(40, 30, 40, 5),
        turn(90, 30, 40, 5),
        turn(110, 100, 40, 6),
        turn(160, 100, 40, 6),
        poll(180, 170, 40, 7),
    ];
    assert_eq!(found(&looks), [(Kind::Turn, 30, 100), (Kind::Turn, 100, 170)]);
    assert_eq!(found(&uncounted(&looks)), [(Kind::Turn, 30, 100), (Kind::Turn, 100, 170)]);
}

#[test]
fn what_comes_before_the_first_poll_is_a_start() {
    let looks = [turn(30, 0, 0, 0), turn(200, 0, 0, 0), poll(360, 350, 0, 1)];
    assert_eq!(found(&looks), [(Kind::Startup, 0, 350)]);
    assert_eq!(found(&uncounted(&looks)), [(Kind::Startup, 0, 350)]);
    assert_eq!(found(&looks[..2]), [(Kind::Startup, 0, 200)], "it never polls");
    let timers = uncounted(&[turn(30, 20, 0, 0), turn(200, 190, 0, 0), poll(360, 350, 0, 1)]);
    assert_eq!(found(&timers), [(Kind::Startup, 0, 350)], "it sets timers meanwhile");
}

#[test]
fn a_stop_is_a_gap() {
    let stopped = |look: Look| Look { is_stopped: true, ..look };
    let looks = [
        poll(0, 0, 10, 5),
        stopped(poll(20, 0, 10, 5)),
        stopped(poll(300, 0, 10, 5)),
        poll(320, 0, 10, 5),
        turn(340, 335, 345, 5),
        stopped(turn(360, 335, 345, 5)),
        stopped(turn(560, 335, 345, 5)),
        turn(580, 335, 345, 5),
        poll(600, 590, 345, 6),
    ];
    assert_eq!(found(&looks), [(Kind::Stopped, 10, 310), (Kind::Stopped, 350, 570)]);
    let long = [&looks[..6], &[turn(380, 335, 345, 5), poll(480, 470, 345, 6)]].concat();
    assert_eq!(
        found(&long)[1..],
        [(Kind::Turn, 370, 470)],
        "what goes on after it is long by itself"
    );
}

#[test]
fn a_turn_shows_how_it_was_spent() {
    let mut turns = Turns::new(0, true);
    let with = |look: Look, run: u64, ready: u64, throttled: u64| Look {
        run_ns: run * MS,
        ready_ns: ready * MS,
        throttled_ns: Some(throttled * MS),
        ..look
    };
    turns.look(with(poll(0, 0, 10, 5), 100, 50, 7));
    turns.look(with(turn(20, 10, 20, 5), 101, 59, 7));
    turns.look(with(poll(320, 310, 20, 6), 130, 150, 907));
    let expected = LongTurn {
        kind: Kind::Turn,
        start_ns: (START + 10) * MS,
        end_ns: (START + 310) * MS,
        run_ns: 30 * MS,
        ready_ns: 100 * MS,
        throttled_ns: Some(100 * MS),
    };
    assert_eq!(turns.take().collect::<Vec<_>>(), [Seen::Long(expected)]);
    let watched = turns.watched().expect("it was looked at");
    assert_eq!((watched.polled_ns, watched.turns), (20 * MS, Some(1)));
}

#[test]
fn nonsense_does_no_harm() {
    let values = [0, 1, 7, u64::MAX / 2, u64::MAX];
    for one in values {
        for two in values {
            let look = |value: u64| Look {
                now_ns: value,
                entry_ns: two,
                idle_ns: one,
                count: Some(value),
                time_ns: two,
                run_ns: one,
                ready_ns: two,
                throttled_ns: Some(value),
                is_stopped: value == 7,
            };
            let mut turns = Turns::new(two, two == 1);
            for value in values.iter().rev().chain(&values) {
                turns.look(look(*value));
            }
            turns.look(Look { entry_ns: 0, ..look(one) });
            turns.look(look(two));
            turns.finish(one);
            assert!(turns.watched().is_some());
        }
    }
}

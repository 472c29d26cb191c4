//! Several loops and processes: each is judged by itself, and only copies of one program are compared.

use profile::{
    Category, LaneInfo, Loop, Process, Role, Sample, StringId, Thread, ThreadId, UNKNOWN, Unit,
};
use views::{Finding, Findings};

use crate::finding_rules::{COPY, LIST, PARSE, found, ids, started_by, words};
use crate::service::*;

/// A process with a command, whose loop was watched and was free for so long.
fn program(
    mut service: Service,
    (pid, parent): (u32, u32),
    command: &str,
    polled_ns: u64,
) -> (Service, ThreadId) {
    let builder = &mut service.builder;
    let (name, command) = (builder.string("node"), builder.string(command));
    let (pid, parent_pid, role) = (Some(pid), Some(parent), Role::MainLoop);
    let process = Process { pid, name, command, parent_pid, ..Process::default() };
    let process = builder.process(process);
    let thread = builder.thread(Thread { process, tid: pid, name, role });
    let end_ns = builder.meta().duration_ns;
    let problem = StringId::NONE;
    builder.event_loop(Loop { thread, start_ns: 0, end_ns, polled_ns, turns: UNKNOWN, problem });
    (service, thread)
}

/// The findings about several programs, each with its process, parent, command and the seconds of ten for which its loop
/// was free.
fn programs(rows: &[(u32, u32, &str, u64)]) -> Findings {
    let add = |service, (pid, parent, command, free): &(u32, u32, &str, u64)| {
        program(service, (*pid, *parent), command, free * SECOND).0
    };
    found(rows.iter().fold(Service::new(10), add))
}

#[test]
fn only_copies_of_one_program_are_compared() {
    let server = "node server.js";
    let started =
        [(1, 0, "npm start", 10), (2, 1, "node nodemon server.js", 10), (3, 2, server, 4)];
    assert_eq!(ids(&programs(&started)), [""; 0], "what starts a server is idle");
    let others = [(5, 1, "node mail.js", 10), (6, 1, "node cron.js", 10), (7, 1, server, 4)];
    assert_eq!(ids(&programs(&others)), [""; 0], "pm2 starts several programs");
    let apart = [(5, 1, server, 10), (6, 2, server, 10), (7, 3, server, 4)];
    assert_eq!(ids(&programs(&apart)), [""; 0], "different parents");
    let workers = [(5, 1, server, 10), (6, 1, server, 10), (7, 1, server, 4)];
    assert_eq!(ids(&programs(&workers)), ["bad-worker"]);
}

#[test]
fn two_clusters_have_a_bad_worker_each() {
    let rows = [
        (5, 1, "node web.js", 10),
        (6, 1, "node web.js", 10),
        (7, 1, "node web.js", 4),
        (8, 2, "node mail.js", 10),
        (9, 2, "node mail.js", 1),
        (10, 2, "node mail.js", 10),
    ];
    let seen = programs(&rows);
    assert_eq!(ids(&seen), ["bad-worker", "bad-worker"]);
    let Finding::BadWorker(worst) = &seen.list[0].finding else { panic!("{:?}", seen.list) };
    assert_eq!((worst.others, worst.cause.as_ref().map(|cause| cause.id)), (2, Some("busy-loop")));
}

/// Samples on a loop, spread evenly over ten seconds.
fn spread(mut service: Service, thread: ThreadId, codes: &[Code], time_ns: u64) -> Service {
    let stack = stack_of(&mut service.builder, codes, "ejs");
    let info = LaneInfo { name: "cpu-clock", unit: Unit::Ns, timed: true, counted: true };
    let lane = service.builder.lane(info);
    let count = time_ns / INTERVAL;
    for row in 0..count {
        let time_ns = row * (10 * SECOND / count);
        service.builder.sample(lane, Sample { time_ns, thread, stack, weight: INTERVAL });
    }
    service
}

/// Four workers that are equally busy, and do this for so many seconds of ten.
fn four(codes: &[Code], seconds: [u64; 4]) -> (Findings, Vec<ThreadId>) {
    let mut service = Service::new(10);
    let mut threads = Vec::new();
    for (pid, seconds) in (5001..).zip(seconds) {
        let (next, thread) = started_by(Some(1), service, pid, 3 * SECOND);
        service = spread(next, thread, &[&[TIMERS, LIST], codes].concat(), seconds * SECOND);
        service = spread(service, thread, &[TIMERS, RENDER], (7 - seconds) * SECOND);
        threads.push(thread);
    }
    (found(service), threads)
}

/// What one of four workers does is a quarter of what it does there.
#[test]
fn work_is_judged_on_each_loop() {
    let ejs: Code = ("render", "/srv/node_modules/ejs/lib/ejs.js", 400, Category::Dependency);
    for (work, id) in [(PARSE, "json"), (ejs, "hot-package")] {
        let (seen, threads) = four(&[COPY, work], [0, 0, 6, 0]);
        assert_eq!(ids(&seen), [id]);
        assert_eq!(seen.list[0].finding.threads(), [threads[2]], "{id}");
        assert_eq!(seen.list[0].lost_ns, 6 * SECOND, "{id}");
        let (seen, threads) = four(&[COPY, work], [4, 4, 4, 1]);
        assert_eq!(seen.list[0].finding.threads(), threads[..3], "{id}: those that agree");
        assert_eq!(seen.list[0].lost_ns, 12 * SECOND, "{id}: and what they lost");
    }
}

/// What npm does to start a program is no work of the program.
#[test]
fn launchers_are_left_out() {
    let with = |command: &str| {
        let (service, _) = program(Service::new(10), (2, 1), "node server.js", 9 * SECOND);
        let (service, thread) = program(service, (1, 0), command, 6 * SECOND);
        words(spread(service, thread, &[TIMERS, COPY, PARSE], 4 * SECOND)).len()
    };
    assert_eq!((with("npm start"), with("node other.js")), (0, 3));
}

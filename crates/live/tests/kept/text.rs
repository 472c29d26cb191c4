//! A profile as text that a person can compare: for each lane the functions with their shares, and the tree of stacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use profile::{Lane, Profile, StackId};

/// A function, as it stands in stacks.
#[derive(Default)]
struct Node {
    own: u64,
    total: u64,
    callees: BTreeMap<String, Node>,
}

/// The whole profile.
pub fn text(profile: &Profile) -> String {
    let mut out = String::new();
    for lane in profile.lanes() {
        write_lane(&mut out, profile, lane);
    }
    let turns = profile.long_turns();
    writeln!(out, "{} loops, {} long turns", profile.loops().len(), turns.len()).unwrap();
    let losses = &profile.meta().losses;
    writeln!(out, "unnamed {:?} of {} frames", losses.unnamed, losses.frames).unwrap();
    writeln!(out, "damage {:?}, cut {}, lost {}", losses.damage, losses.stacks_cut, losses.lost)
        .unwrap();
    out
}

/// What belongs to threads, and what the kernel and the watch of loops counted, with times as the kernel counts. A
/// recording that is named bit by bit may begin later: it does not wait for what is reported later and was earlier.
pub fn details(profile: &Profile) -> String {
    let mut out = String::new();
    let start_ns = (profile.meta().start_clock_s.unwrap_or(0.0) * 1e9).round() as u64;
    let at = |time_ns: u64| (start_ns + time_ns) / 1000;
    let mut threads: Vec<_> = profile.threads().iter().collect();
    threads.sort_by_key(|thread| thread.tid);
    for thread in threads {
        let pid = profile.processes()[thread.process.index()].pid;
        writeln!(
            out,
            "thread {pid:?} {:?} {} {:?}",
            thread.tid,
            profile.text(thread.name),
            thread.role
        )
        .unwrap();
    }
    let turns = profile.long_turns();
    let rows = turns
        .ids()
        .map(|id| turns.row(id))
        .map(|row| (row.kind, at(row.start_ns), at(row.end_ns), row.run_ns, row.ready_ns));
    writeln!(out, "long turns {:?}", rows.collect::<Vec<_>>()).unwrap();
    let loops = profile.loops();
    let rows =
        loops.ids().map(|id| loops.row(id)).map(|row| (at(row.end_ns), row.polled_ns, row.turns));
    writeln!(out, "loops {:?}", rows.collect::<Vec<_>>()).unwrap();
    let markers = profile.markers();
    let rows = markers.ids().map(|id| markers.row(id)).map(|row| at(row.end_ns));
    writeln!(out, "markers {:?}", rows.collect::<BTreeSet<_>>()).unwrap();
    let off_cpu = profile.off_cpu();
    let mut times: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for row in off_cpu.ids().map(|id| off_cpu.row(id)) {
        *times.entry(profile.thread(row.thread).tid).or_default() += u64::from(row.times);
    }
    writeln!(out, "times off the CPU {times:?}").unwrap();
    let lanes =
        profile.lanes().iter().map(|lane| lane.samples.time_ns.iter().map(|time_ns| at(*time_ns)));
    let times: Vec<Vec<u64>> = lanes.map(Iterator::collect).collect();
    writeln!(out, "times {times:?}").unwrap();
    let meta = profile.meta();
    let about = (&meta.command, &meta.node_version, meta.interval_ns, &meta.system);
    writeln!(out, "{about:?} {} {:?}", meta.format, meta.losses.notes).unwrap();
    out
}

fn write_lane(out: &mut String, profile: &Profile, lane: &Lane) {
    let mut root = Node::default();
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    for id in lane.samples.ids() {
        let sample = lane.samples.row(id);
        let mut labels: Vec<String> =
            profile.ancestry(sample.stack).map(|stack| label(profile, stack)).collect();
        *functions.entry(labels.first().cloned().unwrap_or_default()).or_default() += sample.weight;
        labels.reverse();
        root.add(&labels, sample.weight);
    }
    writeln!(
        out,
        "lane {}: {} samples, {}",
        profile.text(lane.name),
        lane.samples.len(),
        root.total
    )
    .unwrap();
    let mut functions: Vec<(u64, String)> =
        functions.into_iter().map(|(name, own)| (own, name)).collect();
    functions.sort_by(|one, two| two.0.cmp(&one.0).then(one.1.cmp(&two.1)));
    for (own, name) in functions {
        writeln!(out, "  {:5.1} % {name}", own as f64 * 100.0 / root.total.max(1) as f64).unwrap();
    }
    writeln!(out, "  stacks").unwrap();
    root.write(out, 2);
}

impl Node {
    fn add(&mut self, labels: &[String], weight: u64) {
        self.total += weight;
        match labels.split_first() {
            None => self.own += weight,
            Some((first, rest)) => self.callees.entry(first.clone()).or_default().add(rest, weight),
        }
    }

    /// A line for each function; one that is called alone stands in its caller's line.
    fn write(&self, out: &mut String, depth: usize) {
        let mut rows: Vec<(&String, &Self)> = self.callees.iter().collect();
        rows.sort_by(|one, two| two.1.total.cmp(&one.1.total).then(one.0.cmp(two.0)));
        for (label, mut node) in rows {
            let mut line = label.clone();
            while let (1, 0) = (node.callees.len(), node.own) {
                let Some((label, only)) = node.callees.iter().next() else { break };
                write!(line, " > {label}").unwrap();
                node = only;
            }
            writeln!(out, "{:width$}{} {line}", "", node.total, width = depth).unwrap();
            node.write(out, depth + 1);
        }
    }
}

/// C++ names are long.
const LONGEST_NAME: usize = 60;

/// What a frame is called. Addresses and folders mean nothing.
fn label(profile: &Profile, stack: StackId) -> String {
    let frame = profile.frames().row(profile.stacks().frame[stack.index()]);
    let function = profile.functions().row(frame.function);
    let mut label: String = profile.text(function.name).chars().take(LONGEST_NAME).collect();
    if let Some(source) = profile.source_path(function.source) {
        let file = source.rsplit('/').next().unwrap_or(source);
        write!(
            label,
            " ({file}:{}:{} at {}:{})",
            function.line, function.column, frame.line, frame.column
        )
        .unwrap();
    } else if let Some(module) = profile.module_name(function.module) {
        write!(label, " [{}]", module.rsplit('/').next().unwrap_or(module)).unwrap();
    }
    if frame.inlined {
        label.push_str(" inlined");
    }
    label
}

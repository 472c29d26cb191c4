//! Profile → the Firefox Profiler's processed profile (profiler.firefox.com), behind gzip: threads, times,
//! markers and categories. Version 60 of its format; the site upgrades older ones by itself
//! (<https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md>).

mod tables;

use std::io::{self, BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use profile::{Category, Lane, Marker, MarkerKind, Profile, Role, StringId, ThreadId, Tier, Unit};
use serde::Serialize;
use serde_json::{Value, json};
use views::{Selection, selected_rows};

use tables::Tables;

const VERSION: u32 = 60;

/// The colours that the Firefox Profiler knows, nearest to ours.
const COLORS: [(Category, &str); 15] = [
    (Category::App, "green"),
    (Category::Dependency, "brown"),
    (Category::NodeCore, "blue"),
    (Category::Builtin, "lightblue"),
    (Category::Runtime, "yellow"),
    (Category::Gc, "purple"),
    (Category::Compiler, "darkgrey"),
    (Category::Regexp, "magenta"),
    (Category::Wasm, "blue"),
    (Category::Addon, "red"),
    (Category::Libuv, "lightred"),
    (Category::System, "lightred"),
    (Category::Kernel, "orange"),
    (Category::Idle, "transparent"),
    (Category::Unknown, "grey"),
];

/// Writes the selected samples of one lane; returns what the format cannot carry.
pub fn write(profile: &Profile, selection: &Selection, out: impl Write) -> io::Result<Vec<String>> {
    let Some(lane) = selection.lane_in(profile).map(|id| profile.lane(id)) else {
        return Ok(Vec::new());
    };
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); profile.threads().len()];
    for row in selected_rows(profile, selection) {
        rows[lane.samples.thread[row].index()].push(row);
    }
    let mut tables = Tables::new(profile, selection, lane, rows.iter().flatten().copied());
    let busy = rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    let threads: Vec<Thread> = busy
        .map(|(row, rows)| thread(&mut tables, lane, ThreadId::from_index(row), rows))
        .collect();
    let file = File {
        meta: meta(profile, lane),
        libs: tables.libs(),
        pages: [],
        counters: [],
        profiler_overhead: [],
        threads,
        shared: tables.shared(),
    };
    let mut out = BufWriter::new(GzEncoder::new(out, Compression::default()));
    serde_json::to_writer(&mut out, &file)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.flush()?;
    Ok(notes(profile, lane))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    meta: Value,
    libs: Vec<Value>,
    pages: [Value; 0],
    counters: [Value; 0],
    profiler_overhead: [Value; 0],
    threads: Vec<Thread>,
    shared: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    process_type: &'static str,
    process_startup_time: f64,
    process_shutdown_time: Option<f64>,
    register_time: f64,
    unregister_time: Option<f64>,
    paused_ranges: [Value; 0],
    name: String,
    process_name: String,
    is_main_thread: bool,
    pid: String,
    tid: String,
    show_markers_in_timeline: bool,
    samples: Samples,
    markers: Markers,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    length: usize,
    stack: Vec<Option<u32>>,
    time: Vec<f64>,
    weight: Vec<Value>,
    weight_type: &'static str,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Markers {
    length: usize,
    name: Vec<u32>,
    start_time: Vec<f64>,
    end_time: Vec<Option<f64>>,
    phase: Vec<u8>,
    category: Vec<u8>,
    data: Vec<Value>,
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn thread(tables: &mut Tables<'_>, lane: &Lane, id: ThreadId, rows: &[usize]) -> Thread {
    let profile = tables.profile;
    let row = profile.thread(id);
    let process = profile.process(row.process);
    let name = profile.text(row.name);
    let number = |id: Option<u32>, other: u32| id.unwrap_or(other).to_string();
    Thread {
        process_type: "default",
        process_startup_time: 0.0,
        process_shutdown_time: None,
        register_time: 0.0,
        unregister_time: None,
        paused_ranges: [],
        name: if name.is_empty() { "samples".into() } else { name.to_owned() },
        process_name: Some(profile.text(process.name))
            .filter(|name| !name.is_empty())
            .unwrap_or(name)
            .to_owned(),
        is_main_thread: row.role == Role::MainLoop,
        pid: number(process.pid, row.process.0),
        tid: number(row.tid, id.0),
        show_markers_in_timeline: true,
        samples: samples(tables, lane, rows),
        markers: markers(tables, id),
    }
}

fn samples(tables: &Tables<'_>, lane: &Lane, rows: &[usize]) -> Samples {
    let columns = &lane.samples;
    // Without times, samples stand one behind another.
    let time = |(place, row): (usize, &usize)| {
        if lane.timed { milliseconds(columns.time_ns[*row]) } else { place as f64 }
    };
    let weight = |row: &usize| match lane.unit {
        Unit::Ns => Value::from(milliseconds(columns.weight[*row])),
        _ => Value::from(columns.weight[*row]),
    };
    Samples {
        length: rows.len(),
        stack: rows.iter().map(|row| tables.stack(columns.stack[*row])).collect(),
        time: rows.iter().enumerate().map(time).collect(),
        weight: rows.iter().map(weight).collect(),
        weight_type: match lane.unit {
            Unit::Ns => "tracing-ms",
            Unit::Bytes => "bytes",
            Unit::Count | Unit::Event => "samples",
        },
    }
}

fn markers(tables: &mut Tables<'_>, thread: ThreadId) -> Markers {
    const INSTANT: u8 = 0;
    const INTERVAL: u8 = 1;
    let rows = tables.profile.markers();
    let mut markers = Markers::default();
    let off_cpu = tables.profile.off_cpu();
    // A row that sums up several times is no span.
    let off_cpu =
        off_cpu.ids().map(|id| off_cpu.row(id)).filter(|row| row.times == 1).map(|row| Marker {
            kind: MarkerKind::OffCpu,
            thread: row.thread,
            start_ns: row.start_ns,
            end_ns: row.start_ns.saturating_add(row.length_ns),
            text: StringId::NONE,
        });
    let all = rows.ids().map(|id| rows.row(id)).chain(off_cpu);
    for marker in all.filter(|marker| marker.thread == thread) {
        let (name, category) = match marker.kind {
            MarkerKind::LoopTurn => ("event loop turn", Category::Libuv),
            MarkerKind::GcPause => ("GC pause", Category::Gc),
            MarkerKind::OffCpu => ("off CPU", Category::Idle),
            MarkerKind::Throttled => ("sampling throttled", Category::Unknown),
        };
        let is_span = marker.end_ns > marker.start_ns;
        markers.length += 1;
        markers.name.push(tables.string(name));
        markers.start_time.push(milliseconds(marker.start_ns));
        markers.end_time.push(is_span.then(|| milliseconds(marker.end_ns)));
        markers.phase.push(if is_span { INTERVAL } else { INSTANT });
        markers.category.push(category as u8);
        markers.data.push(Value::Null);
    }
    markers
}

fn meta(profile: &Profile, lane: &Lane) -> Value {
    let meta = profile.meta();
    let start: u64 = meta.start_unix_ns.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
    let interval_ns = meta.interval_ns.unwrap_or(1_000_000);
    // Tiers are the subcategories of each category; the first must be the one for everything else.
    let tiers = Tier::ALL.iter().skip(1).map(|tier| tier.label());
    let tiers: Vec<&str> = std::iter::once("Other").chain(tiers).collect();
    let category = |(category, color): &(Category, &str)| json!({ "name": category.label(), "color": color, "subcategories": tiers });
    json!({
        "product": meta.command.as_deref().unwrap_or("Node.js"),
        "importedFrom": format!("nodescope ({})", meta.format),
        "version": 24,
        "preprocessedProfileVersion": VERSION,
        "processType": 0,
        "stackwalk": 1,
        "debug": false,
        "symbolicated": true,
        "startTime": milliseconds(start),
        "interval": milliseconds(interval_ns),
        "categories": COLORS.iter().map(category).collect::<Vec<_>>(),
        "markerSchema": [],
        "oscpu": meta.system.as_deref().unwrap_or_default(),
        "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns" },
        "usesOnlyOneStackType": false,
        "sourceCodeIsNotOnSearchfox": true,
        "extra": [{ "label": "nodescope", "entries": [
            { "label": "event", "format": "string", "value": profile.text(lane.name) },
        ] }],
    })
}

fn notes(profile: &Profile, lane: &Lane) -> Vec<String> {
    let mut notes = Vec::new();
    if !lane.timed {
        notes.push(
            "the recording has no times: the Firefox Profiler shows one sample a millisecond"
                .into(),
        );
    }
    if lane.unit == Unit::Event {
        notes.push(format!("the Firefox Profiler shows {} as samples", profile.text(lane.name)));
    }
    if !profile.line_ticks().is_empty() {
        notes
            .push("the Firefox Profiler has no place for ticks on lines: they are left out".into());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_stand_in_their_order() {
        let order: Vec<Category> = COLORS.iter().map(|row| row.0).collect();
        assert_eq!(order, Category::ALL);
    }
}

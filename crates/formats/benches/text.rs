//! Reading and writing texts, on a recording of the corpus: for changes that should not cost anything.
//! `make bench` compares whole commands with peers instead.

#![allow(missing_docs, reason = "criterion's macros make public items without")]
#![allow(clippy::unwrap_used, reason = "a bench may panic")]

use std::fs::File;
use std::io::{Read, sink};
use std::num::NonZero;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use formats::{folded, perf_script, svg};
use profile::Budget;
use views::{Selection, weigh};

fn recording() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/node22-http/input.txt.gz");
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(File::open(path).unwrap()).read_to_end(&mut text).unwrap();
    text
}

fn texts(criterion: &mut Criterion) {
    let text = recording();
    let one = NonZero::<usize>::MIN;
    let profile = perf_script::read(&*text, one, &Budget::default());
    let selection = Selection::default();
    let weights = weigh(&profile, &selection);

    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("perf script in", |bench| {
        bench.iter(|| perf_script::read(&*text, one, &Budget::default()));
    });
    group.bench_function("folded out", |bench| {
        bench.iter(|| {
            folded::write(&profile, &weights, &selection, &folded::Options::default(), sink())
                .unwrap();
        });
    });
    group.bench_function("svg out", |bench| {
        bench.iter(|| {
            svg::write(&profile, &weights, &selection, &svg::Options::default(), sink()).unwrap();
        });
    });
    group.bench_function("nodescope out", |bench| {
        bench.iter(|| profile::file::write(&profile, sink()).unwrap());
    });
    group.finish();
}

criterion_group!(benches, texts);
criterion_main!(benches);

//! Reading and writing texts, on a recording of the corpus: for changes that should not cost anything.
//! `make bench` compares whole commands with peers instead.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench may panic, and prints")]

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, sink};
use std::num::NonZero;
use std::path::Path;
use std::time::Instant;

use formats::{folded, perf_script, svg};
use profile::Budget;
use views::{Selection, weigh};

const ROUNDS: usize = 31;

fn recording() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/node22-http/input.txt.gz");
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(File::open(path).unwrap()).read_to_end(&mut text).unwrap();
    text
}

/// Prints the median time of some rounds, and the text's bytes in a second of it.
fn measure<T>(name: &str, bytes: usize, work: impl Fn() -> T) {
    black_box(work());
    let mut times_s: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times_s.sort_by(f64::total_cmp);
    let median_s = times_s[ROUNDS / 2];
    println!("{name:16} {:8.2} ms {:8.0} MB/s", median_s * 1e3, bytes as f64 / 1e6 / median_s);
}

fn main() {
    let text = recording();
    let one = NonZero::<usize>::MIN;
    let profile = perf_script::read(&*text, one, &Budget::default());
    let selection = Selection::default();
    let weights = weigh(&profile, &selection);
    let (plain, drawn) = (folded::Options::default(), svg::Options::default());
    measure("perf script in", text.len(), || perf_script::read(&*text, one, &Budget::default()));
    measure("folded out", text.len(), || {
        folded::write(&profile, &weights, &selection, &plain, sink()).unwrap();
    });
    measure("svg out", text.len(), || {
        svg::write(&profile, &weights, &selection, &drawn, sink()).unwrap();
    });
    measure("nodescope out", text.len(), || profile::file::write(&profile, sink()).unwrap());
}

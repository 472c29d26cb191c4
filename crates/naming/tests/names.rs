//! Real names of Node 0.12 to 26 (corpus/names.tsv) against what a person reviewed row by row
//! (corpus/names.expected.tsv), so that a changed rule shows as a diff. To accept one, run this test with
//! UPDATE_NAMES=1 and read `git diff`.

use naming::{Named, name};
use std::fs;
use std::path::PathBuf;

const HEADER: &str = "module\tsymbol\tfunction\tsource\tline\tcolumn\ttier\tcategory\tpackage";

#[test]
fn names_are_as_reviewed() {
    let rows: Vec<String> = names().iter().map(|(module, symbol)| row(module, symbol)).collect();
    let text = format!("{HEADER}\n{}\n", rows.join("\n"));
    let path = corpus("names.expected.tsv");
    if std::env::var_os("UPDATE_NAMES").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    for (got, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(got, expected);
    }
    assert_eq!(
        text.lines().count(),
        expected.lines().count(),
        "rows of names.tsv and names.expected.tsv"
    );
}

#[test]
fn no_prefix_panics() {
    for (module, symbol) in &names() {
        for (end, _) in symbol.char_indices() {
            check(&symbol[..end], module);
            check(&symbol[end..], module);
        }
    }
}

#[test]
fn no_flipped_byte_panics() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for (module, symbol) in &names() {
        for _ in 0..100 {
            let mut bytes = symbol.clone().into_bytes();
            for _ in 0..1 + random.below(4) {
                let position = random.below(bytes.len());
                bytes[position] = INTERESTING[random.below(INTERESTING.len())];
            }
            check(&String::from_utf8_lossy(&bytes), module);
        }
    }
}

/// Bytes on which the parsers decide, and some that are no text.
const INTERESTING: &[u8] = b" :/\\.-_~^+*'o()[]<>,@0129aNZS\0\x80\xc3\xff";

/// Names a symbol in every way, and checks what must always hold.
fn check(symbol: &str, module: &str) {
    for module in [Some(module), None, Some(""), Some(symbol)] {
        assert!(!name(symbol, module).function.is_empty(), "{symbol:?} {module:?}");
    }
    let _ = profile::classify::role_of_symbol(symbol);
    let _ = profile::classify::role_of_thread(symbol, Some(true));
    let _ = profile::classify::package_of(symbol);
}

fn row(module: &str, symbol: &str) -> String {
    let Named { function, source, line, column, tier, category, package } =
        name(symbol, Some(module));
    let (source, package) = (source.unwrap_or_default(), package.unwrap_or_default());
    let (tier, category) = (tier.word(), category.word());
    format!(
        "{module}\t{symbol}\t{function}\t{source}\t{line}\t{column}\t{tier}\t{category}\t{package}"
    )
}

/// Module and symbol of every row of corpus/names.tsv.
fn names() -> Vec<(String, String)> {
    let text = fs::read_to_string(corpus("names.tsv")).expect("corpus/names.tsv is readable");
    let rows = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    rows.map(|columns| (columns[1].to_owned(), columns[2].to_owned())).collect()
}

fn corpus(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "corpus", file].iter().collect()
}

/// xorshift64: the same names on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

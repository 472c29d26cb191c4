//! The report for a ticket or a language model: Markdown of at most 4 kB. What stands out comes first and whole; the
//! tables give way.

use views::report::{FunctionRow, MOST_FINDINGS, PackageRow, more_findings, place_of};
use views::{Report, package_words};

use crate::text::{percent, printable};

/// The longest text, in bytes.
const LIMIT: usize = 4096;
/// So many rows of a table, where there is room.
const ROWS: usize = 8;
const CUT: &str = "\n…\n";

/// The whole text.
pub(super) fn render(report: &Report) -> String {
    let mut text = head(report);
    text = cut(text, LIMIT);
    for table in [own_functions(report), packages(report)] {
        add_table(&mut text, &table);
    }
    text
}

/// Headline, quality, findings, and the other sentences.
fn head(report: &Report) -> String {
    let mut text = format!("## {}\n\n", escaped(&report.headline.join(" · ")));
    for sentence in report.sentences() {
        text += &format!("{}\n", escaped(&sentence.text));
    }
    text.push('\n');
    for (row, finding) in report.findings.iter().take(MOST_FINDINGS).enumerate() {
        for (line, sentence) in finding.text.iter().enumerate() {
            let sentence = escaped(sentence);
            text += &match line {
                0 => format!("{}. **{sentence}**\n", row + 1),
                _ => format!("   {sentence}\n"),
            };
        }
    }
    if let Some(more) = report.findings.len().checked_sub(MOST_FINDINGS).filter(|more| *more > 0) {
        text += &format!("\n{}\n", escaped(&more_findings(more)));
    }
    if !report.findings.is_empty() {
        text.push('\n');
    }
    for sentence in &report.closing {
        text += &format!("{}\n", escaped(sentence));
    }
    text
}

/// A title, the names of the columns, and the rows.
struct Table {
    title: &'static str,
    columns: [&'static str; 3],
    rows: Vec<[String; 3]>,
}

fn own_functions(report: &Report) -> Table {
    let row = |row: &FunctionRow| {
        let file = row.file.as_deref().map(|file| report.folders.short(file));
        [caused(row.times.caused_share), code(&row.name), code(&place_of(file, row.line))]
    };
    Table {
        title: "Your code, by the time it caused",
        columns: ["caused", "function", "where"],
        rows: report.own_functions.iter().take(ROWS).map(row).collect(),
    }
}

fn packages(report: &Report) -> Table {
    let row = |row: &PackageRow| {
        let name = package_words(&row.name, row.version.as_deref());
        [caused(row.times.caused_share), code(&name), percent(row.times.total_share)]
    };
    Table {
        title: "npm packages, by the time they caused",
        columns: ["caused", "package", "total"],
        rows: report.packages.iter().take(ROWS).map(row).collect(),
    }
}

fn caused(share: Option<f64>) -> String {
    percent(share.unwrap_or_default())
}

/// As many rows as fit; no table where not even one does.
fn add_table(text: &mut String, table: &Table) {
    let mut lines =
        format!("\n### {}\n\n| {} |\n|---:|---|---|\n", table.title, table.columns.join(" | "));
    let head = lines.len();
    for row in &table.rows {
        let line = format!("| {} |\n", row.join(" | "));
        if text.len() + lines.len() + line.len() > LIMIT {
            break;
        }
        lines += &line;
    }
    if lines.len() > head {
        text.push_str(&lines);
    }
}

/// Cuts at the end of a line.
fn cut(mut text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit - CUT.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(text[..end].rfind('\n').unwrap_or(end));
    text + CUT
}

/// A name in code quotes: no name can end them, and a bar would end a cell.
fn code(name: &str) -> String {
    match printable(name).replace('`', "'").replace('|', "\\|") {
        name if name.is_empty() => name,
        name => format!("`{name}`"),
    }
}

/// Text that Markdown shows as it is: names may hold its marks.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in printable(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '<' | '[' | ']' | '|' | '~') {
            shown.push('\\');
        }
        shown.push(character);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(code("a`b|c"), "`a'b\\|c`");
        assert_eq!(
            escaped("[x](http://y) <b> __proto__"),
            "\\[x\\](http://y) \\<b> \\_\\_proto\\_\\_"
        );
        assert_eq!(escaped("a\nb"), "a\u{fffd}b");
    }

    #[test]
    fn long_texts_end_at_a_line() {
        let text = "line\n".repeat(2000);
        let cut = cut(text, LIMIT);
        assert!(cut.len() <= LIMIT && cut.ends_with("line\n…\n"), "{}", cut.len());
        let wide = super::cut("é".repeat(4000), LIMIT);
        assert!(wide.len() <= LIMIT);
    }

    #[test]
    fn tables_give_way() {
        let rows = vec![["1.0 %".to_owned(), code("f"), code("a.js:1")]; 8];
        let table = Table { title: "T", columns: ["a", "b", "c"], rows };
        let mut text = "x".repeat(LIMIT - 80);
        add_table(&mut text, &table);
        assert!(text.len() <= LIMIT && text.contains("| 1.0 % |"), "{text}");
        let mut text = "x".repeat(LIMIT - 10);
        add_table(&mut text, &table);
        assert!(!text.contains('|'));
    }
}

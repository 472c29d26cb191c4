//! `nodescope doctor`: what this machine allows this user, and the exact command that would allow more. Each check
//! looks at one thing and says why it matters; the checks of the machine and of a process are two tables.

mod machine;
mod process;

use std::time::Duration;

use serde::Serialize;
use target::Places;

use crate::cli;
use crate::failure::Failure;
use crate::record::choose;
use crate::style::Style;
use crate::text::{printable, wrap};
use crate::{advice, output};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    /// What it is about, in a word or two.
    what: &'static str,
    /// Whether nothing stands in the way there.
    ok: bool,
    /// What was found.
    found: String,
    /// What it means for a recording.
    why: &'static str,
    /// What to type to change it, or to be allowed more.
    fix: Option<String>,
}

impl Check {
    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, ok: true, found: found.into(), why: "", fix: None }
    }

    fn bad(
        what: &'static str,
        found: impl Into<String>,
        why: &'static str,
        fix: impl Into<String>,
    ) -> Self {
        Self { what, ok: false, found: found.into(), why, fix: Some(fix.into()) }
    }

    /// Nothing is wrong, but there would be more.
    fn or_more(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &cli::Doctor) -> Result<(), Failure> {
    let limits = advice::limits();
    let places = Places::default();
    let list = target::list(&places, Duration::ZERO)
        .map_err(|error| Failure::failed(format!("cannot read /proc: {error}")))?;
    let meant =
        arguments.target.as_deref().map(|words| choose::one(&list.processes, words)).transpose()?;
    let mut checks = machine::checks(&limits, &machine::Tried::here(&places));
    match meant {
        Some(process) => checks.extend(process::checks(&limits, process)),
        None => checks.push(process::summary(&list.processes)),
    }
    if arguments.json {
        let mut text = serde_json::to_string_pretty(&checks)
            .map_err(|error| Failure::failed(error.to_string()))?;
        text.push('\n');
        return output::print(&text);
    }
    output::print(&render(&checks, &Style::new(arguments.color)))
}

fn render(checks: &[Check], style: &Style) -> String {
    let mut text = String::new();
    let indented = |sentence: &str| {
        let wrapped = wrap(&printable(sentence), style.width.saturating_sub(4));
        wrapped.lines().map(|line| format!("    {line}\n")).collect::<String>()
    };
    for check in checks {
        let mark = if check.ok { "✓" } else { "✗" };
        let line = wrap(
            &format!("{}: {}", check.what, printable(&check.found)),
            style.width.saturating_sub(2),
        );
        let line = line.replacen(check.what, &style.bold(check.what), 1).replace('\n', "\n  ");
        text.push_str(&format!("{mark} {line}\n"));
        if !check.ok {
            text.push_str(&indented(check.why));
        }
        if let Some(fix) = &check.fix {
            let label = if check.ok { "for more" } else { "to change it" };
            text.push_str(&indented(&format!("{label}: {fix}")));
        }
    }
    text
}

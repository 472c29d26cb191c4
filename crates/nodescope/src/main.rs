//! The command line: parses the arguments, runs the command, and is the only place that exits.

#[cfg(target_os = "linux")]
mod advice;
mod browser;
mod cli;
mod demo;
mod diff;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod dump;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod export;
mod failure;
mod generate;
mod input;
mod invoked;
mod jobs;
#[cfg(target_os = "linux")]
mod linux;
mod output;
#[cfg(target_os = "linux")]
mod ps;
mod record;
mod report;
mod select;
mod style;
mod table;
mod text;
mod texts;
#[cfg(target_os = "linux")]
mod top;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use cli::{Cli, Command};
#[cfg(not(target_os = "linux"))]
use elsewhere as system;
use failure::Failure;
#[cfg(target_os = "linux")]
use linux as system;

/// musl's own allocator would slow the static programs down (docs/design/decisions.md).
#[cfg(target_env = "musl")]
#[global_allocator]
static HEAP: sys::memory::Heap = sys::memory::Heap;

fn main() -> ExitCode {
    if let Some(ended) = jobs::run() {
        return ended;
    }
    let cli = Cli::parse_from(cli::arguments(std::env::args_os()));
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        None => output::print(&cli::short_help()),
        Some(Command::Record(arguments)) => record::run(arguments),
        Some(Command::System(command)) => system::run(command),
        Some(Command::Demo(arguments)) => demo::run(arguments),
        Some(Command::View(arguments)) => view::run(arguments),
        Some(Command::Report(arguments)) => report::run(arguments),
        Some(Command::Diff(arguments)) => diff::run(arguments),
        Some(Command::Export(arguments)) => export::run(arguments),
        Some(Command::Completions(arguments)) => {
            generate::completions(Cli::command(), arguments.shell)
        }
        Some(Command::Man(arguments)) => {
            generate::man_pages(&Cli::command(), arguments.dir.as_deref())
        }
    }
}

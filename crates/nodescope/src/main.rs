//! The command line: what was typed becomes meaning, the rooms are wired together, and the one exit is here.

#[cfg(target_os = "linux")]
mod advice;
mod browser;
mod cli;
mod demo;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod dump;
mod export;
mod failure;
mod generate;
mod identity;
mod input;
mod invoked;
mod jobs;
mod output;
#[cfg(target_os = "linux")]
mod ps;
mod record;
mod report;
mod select;
mod style;
mod table;
mod text;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use cli::{Cli, Command};
use failure::Failure;

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
        #[cfg(target_os = "linux")]
        Some(Command::Ps(arguments)) => ps::run(arguments),
        #[cfg(target_os = "linux")]
        Some(Command::Dump(arguments)) => dump::run(arguments),
        #[cfg(target_os = "linux")]
        Some(Command::Doctor(arguments)) => doctor::run(arguments),
        Some(Command::Demo(arguments)) => demo::run(arguments),
        Some(Command::View(arguments)) => view::run(arguments),
        Some(Command::Report(arguments)) => report::run(arguments),
        Some(Command::Export(arguments)) => export::run(arguments),
        Some(Command::Completions(arguments)) => generate::completions(Cli::command(), arguments.shell),
        Some(Command::Man(arguments)) => generate::man_pages(&Cli::command(), arguments.dir.as_deref()),
    }
}

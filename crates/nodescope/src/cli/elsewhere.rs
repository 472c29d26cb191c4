//! No command is for other systems alone.

use clap::Subcommand;

// A doc comment would become the help text of the whole program.
#[derive(Debug, Subcommand)]
pub(crate) enum SystemCommand {}

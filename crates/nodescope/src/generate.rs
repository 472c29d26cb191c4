//! Man pages and shell completions, made from the definitions of the command line.

use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::output;

/// Prints the completion script of a shell.
pub(crate) fn completions(mut command: Command, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "nodescope", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Prints the main page, or writes all pages into a folder.
pub(crate) fn man_pages(command: &Command, dir: Option<&Path>) -> Result<(), Failure> {
    let Some(dir) = dir else {
        let page = render(command.clone()).map_err(|error| Failure::writing("the page", &error))?;
        return output::print(&String::from_utf8_lossy(&page));
    };
    std::fs::create_dir_all(dir)
        .map_err(|error| Failure::writing(&dir.display().to_string(), &error))?;
    let mut commands = vec![command.clone()];
    for child in command.get_subcommands() {
        let name: &'static str =
            Box::leak(format!("nodescope-{}", child.get_name()).into_boxed_str());
        commands.push(child.clone().name(name));
    }
    for command in commands {
        let path = dir.join(format!("{}.1", command.get_name()));
        let page = render(command).map_err(|error| Failure::writing("the page", &error))?;
        output::write_to(&path, false, |out| out.write_all(&page))?;
    }
    Ok(())
}

/// The pages of a release are the same for every target.
fn render(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.version(env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    Ok(page)
}

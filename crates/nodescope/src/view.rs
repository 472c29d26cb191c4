//! `nodescope view`: the page, served to the user's browser, for a recording, for two that are compared, or for a
//! folder of them.

mod catalog;
mod folder;
mod gists;
#[cfg(target_os = "linux")]
mod until_ended;
#[cfg(not(target_os = "linux"))]
#[path = "view/until_ended_elsewhere.rs"]
mod until_ended;

use std::io;
use std::path::{Path, PathBuf};

use web::Server;

use crate::cli;
use crate::failure::{Failure, warn};
use crate::{browser, input, invoked, output};
use catalog::Catalog;

/// Runs the command.
pub(crate) fn run(arguments: &cli::View) -> Result<(), Failure> {
    input::refuse_two_stdins(&arguments.files)?;
    let files = match arguments.files.as_slice() {
        [] => vec![PathBuf::from(".")],
        files => files.to_vec(),
    };
    let catalog = Catalog::open(&files, &arguments.reading, &arguments.folders)?;
    let port = arguments.port.unwrap_or(0);
    let server = Server::bind(port, catalog).map_err(|error| explain(port, &error))?;
    until_ended::prepare()?;
    print_address(&server, arguments, &files)?;
    until_ended::run(server);
    Ok(())
}

fn explain(port: u16, error: &io::Error) -> Failure {
    let failure =
        |what: String| Failure::failed(what).hint("leave out --port: then any free one is taken");
    match error.kind() {
        io::ErrorKind::AddrInUse => failure(format!("port {port} is taken")),
        io::ErrorKind::PermissionDenied => failure(format!("you may not listen on port {port}")),
        _ => Failure::failed(format!("cannot listen on 127.0.0.1: {error}")),
    }
}

/// The address, and how to get there from here. A script finds the address alone on stdout.
fn print_address(server: &Server, arguments: &cli::View, files: &[PathBuf]) -> Result<(), Failure> {
    let address = server.address();
    if arguments.no_browser {
        output::print(&format!("{address}\n"))?;
        warn("open this address in a browser; it works once. Ctrl-C ends it");
    } else if browser::open_address(&address) {
        warn(&format!("opened {address} in your browser; Ctrl-C ends it"));
    } else {
        warn(&format!("open {address} in a browser; it works once. Ctrl-C ends it"));
    }
    if let Some(host) = far_host(&std::env::var("SSH_CONNECTION").unwrap_or_default()) {
        let port = server.port();
        warn(&format!(
            "you are here over SSH: on your own machine, type  ssh -L {port}:127.0.0.1:{port} {host}"
        ));
        if let [file] = files
            && file != Path::new("-")
            && !file.is_dir()
        {
            let (program, file) = (invoked::name(), invoked::quoted(file));
            warn(&format!("or take it there as one file:  {program} export {file} -o page.html"));
        }
    }
    Ok(())
}

/// What to type behind `ssh` on the other side, from `CLIENT PORT SERVER PORT`.
fn far_host(connection: &str) -> Option<String> {
    let mut words = connection.split(' ').skip(2);
    let (host, port) = (words.next()?, words.next()?);
    let is_plain = |text: &str| {
        !text.is_empty()
            && text.chars().all(|letter| letter.is_alphanumeric() || ".:-_".contains(letter))
    };
    if !is_plain(host) || !is_plain(port) {
        return None;
    }
    let user = std::env::var("USER").ok().filter(|user| is_plain(user));
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let port = if port == "22" { String::new() } else { format!("-p {port} ") };
    Some(format!("{port}{user}{host}"))
}

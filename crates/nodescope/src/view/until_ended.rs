//! Serving until Ctrl-C or a signal, and then ending quietly.

use std::thread;
use std::time::Duration;

use web::Server;

use crate::failure::Failure;

/// How soon a signal is noticed.
const PAUSE: Duration = Duration::from_millis(100);

/// Called before anything is printed: a program that reads the address may end us at once.
pub(super) fn prepare() -> Result<(), Failure> {
    sys::signals::catch_end().map_err(|error| Failure::failed(error.to_string()))
}

/// Serves.
pub(super) fn run(server: Server) {
    thread::spawn(move || server.run());
    while !sys::signals::ended() {
        thread::sleep(PAUSE);
    }
}

//! Serving until the system ends us.

use web::Server;

use crate::failure::Failure;

pub(super) fn prepare() -> Result<(), Failure> {
    Ok(())
}

/// Serves.
#[allow(clippy::needless_pass_by_value, reason = "on Linux a thread takes it")]
pub(super) fn run(server: Server) {
    server.run();
}

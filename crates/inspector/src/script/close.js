// Closes the inspector at once, while we are connected: for a target whose loop is blocked, and runs no timer. There is
// no answer, only the end of the connection.
function nodescope() {
  process._debugEnd();
}

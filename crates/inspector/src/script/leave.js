// For the guard, which is `this`: it is not needed any more, and the inspector closes when we have left. Node waits for
// clients that are still connected.
function nodescope() {
  this.leave();
}

// For the guard, which is `this`: begin to wait anew.
function nodescope() {
  this.refresh();
}

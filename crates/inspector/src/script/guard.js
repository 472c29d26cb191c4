// Closes the inspector by itself unless it is renewed: the program that opened it may be killed. The timer does not
// keep the process alive. A client that is connected and does not answer, because it is stopped, would make Node wait
// for ever when it closes: as long as a connection stands, the guard waits. An inspector that was opened anew since
// then has another address, and is not ours to close.
function nodescope(afterMs) {
  const load = typeof require === 'function' ? require : (name) => process.getBuiltinModule(name);
  const inspector = (() => {
    try {
      return load('inspector');
    } catch {
      return undefined;
    }
  })();
  const address = () => inspector?.url();
  const opened = address();
  const port = opened ? Number(new URL(opened).port) : process.debugPort;
  const ending = ':' + port.toString(16).toUpperCase().padStart(4, '0');
  const hasClient = (line) => {
    const words = line.trim().split(/\s+/);
    return words[3] === '01' && words[1].endsWith(ending);
  };
  const isConnected = (file) => {
    try {
      return load('fs').readFileSync(file, 'latin1').split('\n').some(hasClient);
    } catch {
      return false;
    }
  };
  const end = () => {
    if (address() === opened) process._debugEnd();
  };
  const close = () => {
    if (['/proc/self/net/tcp', '/proc/self/net/tcp6'].some(isConnected)) timer.refresh();
    else end();
  };
  const timer = setTimeout(close, afterMs);
  timer.unref();
  timer.leave = () => {
    clearTimeout(timer);
    setTimeout(end, 100);
  };
  return timer;
}

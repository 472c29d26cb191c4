// Who it is, how much is in its heap, and whether Node itself uses the profiler: it writes whatever it does not know,
// our windows, too, into the application's log.
function nodescope() {
  const { NODE_OPTIONS, NODE_V8_COVERAGE } = process.env;
  const words = [...process.execArgv, ...String(NODE_OPTIONS ?? '').split(/\s+/)];
  const flags = words.map((flag) => flag.replaceAll('_', '-'));
  return JSON.stringify({
    pid: process.pid,
    node: process.version,
    v8: process.versions.v8,
    title: String(process.title),
    clock_us: Number(process.hrtime.bigint() / 1000n),
    heap_bytes: process.memoryUsage().heapUsed,
    profiles_itself: flags.includes('--cpu-prof') || Boolean(NODE_V8_COVERAGE),
  });
}

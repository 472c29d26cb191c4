//! What is run inside of the target, as JavaScript: little, and marked as ours by its source, so that it can be told
//! from the application in every profile.

use std::time::Duration;

/// The scheme of our scripts' names.
pub(crate) const OURS: &str = "nodescope:";

/// Who it is, how much is in its heap, and whether Node itself uses the profiler: it writes whatever it does not know, our
/// windows, too, into the application's log.
pub(crate) fn identity() -> String {
    ours(
        "identity",
        "const { NODE_OPTIONS, NODE_V8_COVERAGE } = process.env;
         const flags = [...process.execArgv, ...String(NODE_OPTIONS ?? '').split(/\\s+/)].map((flag) => flag.replaceAll('_', '-'));
         return JSON.stringify({ pid: process.pid, node: process.version, v8: process.versions.v8,
           title: String(process.title), clock_us: Number(process.hrtime.bigint() / 1000n),
           heap_bytes: process.memoryUsage().heapUsed,
           profiles_itself: flags.includes('--cpu-prof') || Boolean(NODE_V8_COVERAGE) });",
    )
}

/// Closes the inspector by itself unless it is told not to: who opened it may be killed. The timer does not keep the
/// process alive. Somebody who is connected and does not answer, because he is stopped, would make Node wait for ever
/// when it closes: as long as a connection stands, the guard waits. An inspector that was opened anew since then has
/// another address, and is not ours to close.
pub(crate) fn guard(after: Duration) -> String {
    ours("guard", &GUARD.replace("AFTER", &after.as_millis().to_string()))
}

const GUARD: &str = "
const load = typeof require === 'function' ? require : (name) => process.getBuiltinModule(name);
const inspector = (() => { try { return load('inspector'); } catch { return undefined; } })();
const address = () => inspector?.url();
const opened = address();
const port = opened ? Number(new URL(opened).port) : process.debugPort;
const ending = ':' + port.toString(16).toUpperCase().padStart(4, '0');
const hasClient = (line) => { const words = line.trim().split(/\\s+/); return words[3] === '01' && words[1].endsWith(ending); };
const isConnected = (file) => { try { return load('fs').readFileSync(file, 'latin1').split('\\n').some(hasClient); } catch { return false; } };
const end = () => { if (address() === opened) process._debugEnd(); };
const close = () => ['/proc/self/net/tcp', '/proc/self/net/tcp6'].some(isConnected) ? timer.refresh() : end();
const timer = setTimeout(close, AFTER);
timer.unref();
timer.leave = () => { clearTimeout(timer); setTimeout(end, 100); };
return timer;";

/// For the guard, which is `this`: begin to wait anew. V8 puts brackets around a function that is called, so the comment
/// needs a line of its own.
pub(crate) const RENEW: &str = "function nodescope() { this.refresh(); }\n//# sourceURL=nodescope:renew\n";

/// For the guard: it is not needed any more, and the inspector closes when we have left. Node waits for those who are
/// still connected.
pub(crate) const LEAVE: &str = "function nodescope() { this.leave(); }\n//# sourceURL=nodescope:leave\n";

/// Closes the inspector at once, while we are connected: for a target whose loop is blocked, and runs no timer. There
/// is no answer, only the end of the connection.
pub(crate) fn close() -> String {
    ours("close", "process._debugEnd();")
}

/// Begins a window of samples, ends the one before, and says what each of the two took: time and CPU time in ms, and what the
/// whole process has used so far. The
/// command line's `profile` is V8's own, whatever the application did to its console.
pub(crate) fn window(begin: Option<&str>, end: Option<&str>) -> String {
    let call = |name: &str, title: Option<&str>| {
        title.map(|title| format!("{name}('{title}');")).unwrap_or_default()
    };
    let (begin, end) = (call("profile", begin), call("profileEnd", end));
    ours(
        "window",
        &format!(
            "{CLOCKS} note(); {begin} note(); {end} note();
             const {{ user, system }} = process.cpuUsage();
             return [...times, (user + system) / 1000].join();"
        ),
    )
}

/// Time and CPU time in ms.
pub(crate) fn clocks() -> String {
    ours("clocks", &format!("{CLOCKS} note(); return times.join();"))
}

const CLOCKS: &str = "
const cpu = () => { const used = (process.threadCpuUsage ?? process.cpuUsage).call(process);
  return (used.user + used.system) / 1000; };
const times = [];
const note = () => times.push(performance.now(), cpu());";

fn ours(name: &str, body: &str) -> String {
    format!("(function nodescope() {{ {body} }})()\n//# sourceURL={OURS}{name}")
}

//! What is run inside of the target, as JavaScript: little, and marked as ours by its source, so that it can be told
//! from the application in every profile.

use std::time::Duration;

/// The scheme of our scripts' names.
pub(crate) const OURS: &str = "nodescope:";

/// Who it is, and how much code it has.
pub(crate) fn identity() -> String {
    ours(
        "identity",
        "const code = (() => { try { return require('v8').getHeapCodeStatistics(); } catch { return {}; } })();
         return JSON.stringify({ pid: process.pid, node: process.version, v8: process.versions.v8,
           title: String(process.title), clock_us: Number(process.hrtime.bigint() / 1000n),
           bytecode: code.bytecode_and_metadata_size ?? 0 });",
    )
}

/// Closes the inspector by itself unless it is told not to: who opened it may be killed. The timer does not keep the
/// process alive.
pub(crate) fn guard(after: Duration) -> String {
    let milliseconds = after.as_millis();
    ours(
        "guard",
        &format!(
            "const timer = setTimeout(() => process._debugEnd(), {milliseconds}); timer.unref(); return timer;"
        ),
    )
}

/// For the guard, which is `this`: begin to wait anew.
pub(crate) const RENEW: &str = "function nodescope() { this.refresh(); }\n//# sourceURL=nodescope:renew";

/// Closes the inspector as soon as this call is over.
pub(crate) fn close() -> String {
    ours("close", "setTimeout(() => process._debugEnd(), 0);")
}

/// Begins a window of samples, ends the one before, and says what each of the two took: time and CPU time in ms. The
/// command line's `profile` is V8's own, whatever the application did to its console.
pub(crate) fn window(begin: Option<&str>, end: Option<&str>) -> String {
    let call = |name: &str, title: Option<&str>| {
        title.map(|title| format!("{name}('{title}');")).unwrap_or_default()
    };
    let (begin, end) = (call("profile", begin), call("profileEnd", end));
    ours(
        "window",
        &format!(
            "const cpu = () => {{ const used = (process.threadCpuUsage ?? process.cpuUsage).call(process);
               return (used.user + used.system) / 1000; }};
             const times = [];
             const note = () => times.push(performance.now(), cpu());
             note(); {begin} note(); {end} note();
             return times.join();"
        ),
    )
}

fn ours(name: &str, body: &str) -> String {
    format!("(function nodescope() {{ {body} }})()\n//# sourceURL={OURS}{name}")
}

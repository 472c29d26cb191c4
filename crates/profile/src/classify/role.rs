//! What a thread is for: by its name, which is enough from Node 24 on, or by the functions at the root of
//! its stacks, because every thread of Node 8 to 20 is called `node`.

use super::{module::is_node_program, qualified::Qualified};
use crate::category::Role;

/// The role that a thread's name implies (comm: at most 15 bytes). Whether it is the process's first thread
/// matters, because new threads inherit the name of the one that made them.
pub fn role_of_thread(name: &str, is_main_thread: Option<bool>) -> Option<Role> {
    let role = match THREADS.iter().find(|(start, _)| name.starts_with(start)) {
        Some((_, role)) => *role,
        // The name of every thread, so the position decides. pm2 appends the script: `node /srv/app.js`.
        None => {
            return (is_main_thread? && is_node_program(first_word(name)))
                .then_some(Role::MainLoop);
        }
    };
    (role != Role::MainLoop || is_main_thread != Some(false)).then_some(role)
}

/// Whether Node or V8 gives its threads that name; what an application appends to one is not the engine's.
pub fn is_engine_thread(name: &str) -> bool {
    let is_number = |rest: &str| rest.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    THREADS.iter().any(|(start, _)| {
        name.strip_prefix(start).is_some_and(|rest| start.ends_with(':') || is_number(rest))
    })
}

/// The role that a function implies when it runs on a thread. Ask from the root towards the leaf, the first
/// answer counts: a worker's loop turns below `Worker::Run` just as the main one does below `Start`.
pub fn role_of_symbol(symbol: &str) -> Option<Role> {
    let path = Qualified::of(symbol);
    SYMBOLS.iter().find(|(start, _)| starts_with_whole(path.as_str(), start)).map(|(_, role)| *role)
}

/// How the names of threads begin. Seen in Node 0.12, 4, 6, 8 to 20, 22, 24, 25 and 26.
const THREADS: &[(&str, Role)] = &[
    ("MainThread", Role::MainLoop),
    ("node-MainThread", Role::MainLoop),
    ("WorkerThread", Role::Worker),
    ("libuv-worker", Role::LibuvPool),
    ("V8Worker", Role::V8Platform),
    ("node-V8Worker", Role::V8Platform),
    ("V8 WorkerThread", Role::V8Platform),
    ("V8 DefaultWorke", Role::V8Platform),
    ("DelayedTaskSche", Role::V8Platform),
    ("OptimizingCompi", Role::V8Platform),
    ("v8:", Role::V8Platform), // v8:SweeperThread, v8:ProfEvntProc
    ("SignalInspector", Role::Other),
    ("InspectorIo", Role::Other),
    ("iou-", Role::Other), // io_uring's, made by the kernel
];

/// Functions that run on one kind of thread only. Not here, because they run on several: SpinEventLoop,
/// uv_run, Worker::StartThread, v8::platform::DefaultJobHandle::Join.
const SYMBOLS: &[(&str, Role)] = &[
    ("node::Start", Role::MainLoop),
    ("node::NodeMainInstance::Run", Role::MainLoop),
    ("node::worker::Worker::Run", Role::Worker),
    ("worker", Role::LibuvPool), // static in libuv's threadpool.c
    ("node::PlatformWorkerThread", Role::V8Platform),
    ("node::BackgroundRunner", Role::V8Platform),
    ("node::WorkerThreadsTaskRunner::DelayedTaskScheduler::Run", Role::V8Platform),
    ("node::WorkerThreadsTaskRunner::DelayedTaskScheduler::Start", Role::V8Platform),
    ("node::BackgroundTaskRunner::DelayedTaskScheduler::Run", Role::V8Platform),
    ("node::BackgroundTaskRunner::DelayedTaskScheduler::Start", Role::V8Platform),
    ("v8::platform::WorkerThread::Run", Role::V8Platform),
    ("v8::platform::DefaultWorkerThreadsTaskRunner::WorkerThread::Run", Role::V8Platform),
    ("v8::platform::DefaultJobWorker::Run", Role::V8Platform),
    ("v8::internal::OptimizingCompilerThread::Run", Role::V8Platform),
    ("v8::internal::SweeperThread::Run", Role::V8Platform),
    ("v8::internal::ProfilerEventsProcessor::Run", Role::V8Platform),
    ("v8::internal::SamplingEventsProcessor::Run", Role::V8Platform),
    ("node::inspector::InspectorIo::ThreadMain", Role::Other),
    ("node::inspector::StartIoThreadMain", Role::Other),
];

fn first_word(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(first, _)| first)
}

/// `node::Start` is no `node::StartExecution`.
fn starts_with_whole(path: &str, start: &str) -> bool {
    path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads() {
        use Role::{LibuvPool, MainLoop, Other, V8Platform, Worker};
        let rows: &[(&str, Option<bool>, Option<Role>)] = &[
            ("node", Some(true), Some(MainLoop)),
            ("node", Some(false), None),
            ("node", None, None),
            ("nodejs", Some(true), Some(MainLoop)),
            ("iojs", Some(true), Some(MainLoop)),
            ("node22", Some(true), Some(MainLoop)),
            ("node /srv/shop/", Some(true), Some(MainLoop)),
            ("node_exporter", Some(true), None),
            ("MainThread", Some(true), Some(MainLoop)),
            ("MainThread", None, Some(MainLoop)),
            // In Node 24.0 the scheduler of delayed tasks inherits this name.
            ("MainThread", Some(false), None),
            ("node-MainThread", None, Some(MainLoop)),
            ("V8Worker", Some(false), Some(V8Platform)),
            ("node-V8Worker", Some(false), Some(V8Platform)),
            ("node-V8Worker-1", Some(false), Some(V8Platform)),
            ("V8 WorkerThread", Some(false), Some(V8Platform)),
            ("DelayedTaskSche", Some(false), Some(V8Platform)),
            ("OptimizingCompi", Some(false), Some(V8Platform)),
            ("v8:SweeperThrea", Some(false), Some(V8Platform)),
            ("v8:ProfEvntProc", Some(false), Some(V8Platform)),
            ("libuv-worker", Some(false), Some(LibuvPool)),
            ("WorkerThread", Some(false), Some(Worker)),
            ("SignalInspector", Some(false), Some(Other)),
            ("InspectorIo", Some(false), Some(Other)),
            ("mailer", Some(false), None),
            ("bash", Some(true), None),
            ("", None, None),
        ];
        for (name, is_main_thread, role) in rows {
            assert_eq!(role_of_thread(name, *is_main_thread), *role, "{name} {is_main_thread:?}");
        }
    }

    #[test]
    fn symbols() {
        use Role::{LibuvPool, MainLoop, Other, V8Platform, Worker};
        let rows: &[(&str, Option<Role>)] = &[
            ("node::Start", Some(MainLoop)),
            ("node::Start(int, char**)", Some(MainLoop)),
            ("node::Start(int, char**) [clone .cold]", Some(MainLoop)),
            ("_ZN4node5StartEiPPc", Some(MainLoop)),
            ("node::NodeMainInstance::Run()", Some(MainLoop)),
            ("node::StartExecution", None),
            ("node::SpinEventLoop", None),
            ("uv_run", None),
            ("__libc_start_call_main", None),
            ("start_thread", None),
            ("worker", Some(LibuvPool)),
            ("worker_thread", None),
            ("node::worker::Worker::Run()", Some(Worker)),
            ("_ZN4node6worker6Worker3RunEv", Some(Worker)),
            ("node::worker::Worker::StartThread", None),
            ("node::(anonymous namespace)::PlatformWorkerThread", Some(V8Platform)),
            ("_ZN4node12_GLOBAL__N_120PlatformWorkerThreadEPv", Some(V8Platform)),
            ("node::BackgroundRunner", Some(V8Platform)),
            (
                "node::WorkerThreadsTaskRunner::DelayedTaskScheduler::Start()::{lambda(void*)#1}::_FUN",
                Some(V8Platform),
            ),
            ("v8::platform::DefaultJobWorker::Run", Some(V8Platform)),
            ("v8::platform::DefaultJobHandle::Join", None),
            ("v8::internal::OptimizingCompilerThread::Run", Some(V8Platform)),
            ("node::inspector::InspectorIo::ThreadMain(void*)", Some(Other)),
            ("node::inspector::(anonymous namespace)::StartIoThreadMain(void*)", Some(Other)),
        ];
        for (symbol, role) in rows {
            assert_eq!(role_of_symbol(symbol), *role, "{symbol}");
        }
    }
}

//! Traces of several threads, bare lists and broken chunks.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

const CHUNK: &str = r#"{"name":"ProfileChunk","ph":"P","pid":1,"tid":2,"ts":5,"id":"0x1","args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"f","url":"/a.js","lineNumber":0,"columnNumber":3}}],"samples":[1,1]},"timeDeltas":[10,10]}}}"#;

#[test]
fn recognised_by_content() {
    assert!(looks_like(br#"{"metadata":{"source":"DevTools"},"traceE"#));
    assert!(looks_like(br#"{"displayTimeUnit":"ms","traceEvents":["#));
    assert!(looks_like(br#" [ {"args":{},"ph":"M","pid":1"#));
    assert!(!looks_like(br#"[{"ph":1}]"#));
    assert!(!looks_like(b"[1,2]"));
}

#[test]
fn a_trace_that_was_cut_off() {
    let profile = read(format!("{{\"traceEvents\":[{CHUNK},{{\"na").as_bytes(), &Budget::default());
    assert_eq!(profile.lanes()[0].samples.len(), 2);
    assert_eq!(profile.threads()[0].role, Role::MainLoop, "the only thread");
    assert!(profile.meta().losses.damage[0].starts_with("damaged at byte"));
}

#[test]
fn a_broken_chunk_spoils_only_itself() {
    let broken = CHUNK.replace("\"samples\":[1,1]", "\"samples\":{}").replace("0x1", "0x2");
    let profile = read(format!("[{broken},{CHUNK}]").as_bytes(), &Budget::default());
    assert_eq!(profile.lanes()[0].samples.len(), 2);
    assert_eq!(profile.meta().losses.damage.len(), 1);
}

#[test]
fn profiles_of_one_thread_that_follow_each_other() {
    let begin = |id: &str, time: u32| {
        format!(
            r#"{{"name":"Profile","ph":"P","pid":1,"tid":1,"ts":{time},"id":"{id}","args":{{"data":{{"startTime":{time}}}}}}}"#
        )
    };
    let second = CHUNK.replace("0x1", "0x2");
    let text = |time| format!("[{},{},{CHUNK},{second}]", begin("0x1", 0), begin("0x2", time));
    assert_eq!(read(text(100).as_bytes(), &Budget::default()).lanes()[0].samples.len(), 4);
    assert_eq!(
        read(text(15).as_bytes(), &Budget::default()).lanes()[0].samples.len(),
        2,
        "at once"
    );
}

//! The least that reading a .cpuprofile can cost: a typed parse of the whole file and nothing else.
//! `bench/run.sh` measures our reader against it.

use std::error::Error;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CpuProfile<'a> {
    #[serde(borrow)]
    nodes: Vec<Node<'a>>,
    samples: Vec<u32>,
    time_deltas: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    id: u32,
    #[serde(borrow)]
    call_frame: CallFrame<'a>,
    #[serde(default)]
    children: Vec<u32>,
    #[serde(default)]
    position_ticks: Vec<PositionTick>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame<'a> {
    #[serde(borrow)]
    function_name: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    url: std::borrow::Cow<'a, str>,
    line_number: i32,
    column_number: i32,
}

#[derive(Deserialize)]
struct PositionTick {
    line: u32,
    ticks: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("which file?")?;
    let bytes = std::fs::read(path)?;
    let profile: CpuProfile<'_> = serde_json::from_slice(&bytes)?;
    // Everything is looked at, so that nothing can be left out of the parse.
    let of_frame = |frame: &CallFrame<'_>| {
        frame.function_name.len()
            + frame.url.len()
            + (frame.line_number ^ frame.column_number) as usize
    };
    let of_ticks = |tick: &PositionTick| (tick.line ^ tick.ticks) as usize;
    let of_node = |node: &Node<'_>| {
        let ticks = node.position_ticks.iter().map(of_ticks).fold(0, usize::wrapping_add);
        of_frame(&node.call_frame)
            .wrapping_add(node.children.len() + node.id as usize)
            .wrapping_add(ticks)
    };
    let sum = profile.nodes.iter().map(of_node).fold(0, usize::wrapping_add);
    let (samples, deltas) = (profile.samples.len(), profile.time_deltas.len());
    std::hint::black_box((sum, samples, deltas));
    Ok(())
}

//! The tree as inferno's text lines, `root;caller;leaf weight`, in depth-first order. Frames too narrow to be
//! drawn are left out first, and their weight goes to the caller; weights are scaled so that inferno and a
//! browser can add them up. No recursion: stacks may be ten thousand frames deep.

use std::fmt::Write;

use profile::Category;
use views::CallTree;

use super::drawn_width;
use super::measure::Measure;
use super::names::Names;

/// Each line repeats all of its callers, so a deep ladder takes the square of its depth. Frames so deep that
/// all lines together would be longer than this are left out.
const MOST_BYTES: usize = 64 << 20;
/// JavaScript counts exactly up to 2^53.
const MOST_BITS: u32 = 53;

const ROOT: usize = 0;

/// Which nodes are wide enough to be drawn.
pub(super) struct Cut {
    totals: Vec<u64>,
    is_drawn: Vec<bool>,
    /// The weight that ends in each node, with that of its omitted children.
    own: Vec<u64>,
}

impl Cut {
    pub(super) fn of(tree: &CallTree, measure: &Measure, min_width: f64) -> Self {
        let totals: Vec<u64> = tree.nodes.iter().map(|node| measure.total_of(node)).collect();
        let narrowest = totals[ROOT] as f64 * drawn_width(min_width) / 100.0;
        let is_drawn: Vec<bool> =
            totals.iter().map(|total| *total > 0 && *total as f64 >= narrowest).collect();
        let mut own = totals.clone();
        for (row, node) in tree.nodes.iter().enumerate().skip(1) {
            if is_drawn[row] {
                let parent = &mut own[node.parent.index()];
                *parent = parent.saturating_sub(totals[row]);
            }
        }
        Self { totals, is_drawn, own }
    }

    /// For each category, whether it has a frame in the picture.
    pub(super) fn drawn_categories(&self, tree: &CallTree) -> Vec<bool> {
        let mut drawn = vec![false; Category::ALL.len()];
        for (node, is_drawn) in tree.nodes.iter().zip(&self.is_drawn) {
            drawn[node.category as usize] |= *is_drawn && node.label.function().is_some();
        }
        drawn
    }

    /// The children of each node that are drawn, by name.
    fn children(&self, tree: &CallTree, names: &Names) -> Children {
        let mut rows: Vec<usize> =
            (1..tree.nodes.len()).filter(|row| self.is_drawn[*row]).collect();
        rows.sort_by(|a, b| {
            let (a, b) = (&tree.nodes[*a], &tree.nodes[*b]);
            a.parent.cmp(&b.parent).then_with(|| names.get(a).cmp(names.get(b)))
        });
        let parents = rows.iter().map(|row| tree.nodes[*row].parent.index()).collect();
        Children { rows, parents }
    }

    /// The weight of everything drawn.
    fn sum(&self) -> u128 {
        let drawn = self.own.iter().zip(&self.is_drawn).filter(|(_, is_drawn)| **is_drawn);
        drawn.map(|(own, _)| u128::from(*own)).sum()
    }
}

/// Rows of the tree, sorted by their parents.
struct Children {
    rows: Vec<usize>,
    parents: Vec<usize>,
}

impl Children {
    fn of(&self, parent: usize) -> &[usize] {
        let start = self.parents.partition_point(|row| *row < parent);
        let end = self.parents.partition_point(|row| *row <= parent);
        &self.rows[start..end]
    }
}

/// The lines, first to last as they should be drawn.
pub(super) struct Lines {
    text: String,
    ends: Vec<usize>,
    /// By how many bits weights were made smaller.
    shift: u32,
    /// The sum of all weights before that.
    sum: u128,
    depth: Depth,
}

/// How many levels are drawn, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth {
    pub(super) drawn: usize,
    pub(super) whole: usize,
}

impl Lines {
    pub(super) fn of(tree: &CallTree, cut: &Cut, names: &Names) -> Self {
        let levels = levels(tree);
        let depth = affordable_depth(tree, cut, names, &levels);
        let sum = cut.sum();
        let shift = (u128::BITS - sum.leading_zeros()).saturating_sub(MOST_BITS);
        let mut lines = Self { text: String::new(), ends: Vec::new(), shift, sum, depth };
        let children = cut.children(tree, names);
        let mut path = String::new();
        let mut pending = vec![(ROOT, 0)];
        while let Some((row, caller_length)) = pending.pop() {
            let name = names.get(&tree.nodes[row]);
            path.truncate(caller_length);
            if row != ROOT {
                path.push_str(if path.is_empty() { "" } else { ";" });
                path.push_str(name);
            }
            let is_deepest = levels[row] == depth.drawn;
            let weight = if is_deepest { cut.totals[row] } else { cut.own[row] };
            lines.push(if path.is_empty() { name } else { &path }, weight);
            if !is_deepest {
                pending.extend(children.of(row).iter().rev().map(|child| (*child, path.len())));
            }
        }
        lines
    }

    fn push(&mut self, stack: &str, weight: u64) {
        let weight = weight >> self.shift;
        if weight > 0 {
            // Writing to a String cannot fail.
            let _ = write!(self.text, "{stack} {weight}");
            self.ends.push(self.text.len());
        }
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How much one unit in a line stands for; less than it should where the whole would exceed 64 bits, so that
    /// shares stay right.
    pub(super) fn scale(&self) -> f64 {
        let most = u64::MAX as f64 / self.sum as f64;
        f64::from(self.shift).exp2() * most.min(1.0)
    }

    /// How deep the picture is.
    pub(super) fn depth(&self) -> Depth {
        self.depth
    }

    /// The lines, last to first.
    pub(super) fn last_first(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let spans: Vec<(usize, usize)> = starts.copied().zip(self.ends.iter().copied()).collect();
        spans.into_iter().rev().map(|(start, end)| &self.text[start..end])
    }
}

/// The level of each node; the root's is 0.
fn levels(tree: &CallTree) -> Vec<usize> {
    let mut levels = vec![0; tree.nodes.len()];
    for (row, node) in tree.nodes.iter().enumerate().skip(1) {
        levels[row] = levels[node.parent.index()] + 1;
    }
    levels
}

/// The deepest level, at least 1, down to which all lines together stay within [`MOST_BYTES`].
fn affordable_depth(tree: &CallTree, cut: &Cut, names: &Names, levels: &[usize]) -> Depth {
    let mut path_bytes = vec![0usize; tree.nodes.len()];
    let whole = (0..levels.len())
        .filter(|row| cut.is_drawn[*row])
        .map(|row| levels[row])
        .max()
        .unwrap_or(0);
    // For each level: the bytes of stacks that end there, and of all stacks, cut off there.
    let mut bytes = vec![(0usize, 0usize); whole + 1];
    for (row, node) in tree.nodes.iter().enumerate().filter(|(row, _)| cut.is_drawn[*row]) {
        path_bytes[row] = path_bytes[node.parent.index()].saturating_add(names.get(node).len() + 1);
        let (ending, all) = &mut bytes[levels[row]];
        *ending = ending.saturating_add(if cut.own[row] > 0 { path_bytes[row] } else { 0 });
        *all = all.saturating_add(path_bytes[row]);
    }
    let mut above = 0usize;
    let mut drawn = 0;
    for (level, (ending, all)) in bytes.into_iter().enumerate() {
        if level > 1 && above.saturating_add(all) > MOST_BYTES {
            break;
        }
        above = above.saturating_add(ending);
        drawn = level;
    }
    Depth { drawn, whole }
}

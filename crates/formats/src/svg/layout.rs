//! Where the boxes stand: from left to right by name, callees above their callers. Boxes too narrow to be seen are left
//! out. No recursion: stacks may be ten thousand frames deep.

use profile::Category;
use views::{CallTree, Node};

use super::measure::Measure;
use super::names::{Names, is_code};

const ROOT: usize = 0;

/// A box of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    /// The row of its node; none for the weight of no stack and no thread, which stands right above the root.
    pub(super) node: Option<usize>,
    /// Its left end, as a part of the whole.
    pub(super) x: f64,
    /// Its width, as a part of the whole.
    pub(super) width: f64,
    /// 0 is the root's.
    pub(super) level: usize,
    /// Its weight.
    pub(super) total: u128,
}

/// Which nodes are wide enough to be drawn. Only these need names: a tree may have millions.
pub(super) struct Cut {
    totals: Vec<u128>,
    /// Rows of the tree, the root first.
    drawn: Vec<usize>,
    narrowest: f64,
}

impl Cut {
    /// `narrowest` is a part of the whole.
    pub(super) fn of(tree: &CallTree, measure: &Measure, narrowest: f64) -> Self {
        let mut cut = Self { totals: totals(tree, measure), drawn: Vec::new(), narrowest };
        let is_drawn = |row: &usize| *row == ROOT || cut.draws(cut.totals[*row]);
        cut.drawn = (0..tree.nodes.len()).filter(is_drawn).collect();
        cut
    }

    /// The nodes that are drawn.
    pub(super) fn nodes<'a>(&'a self, tree: &'a CallTree) -> impl Iterator<Item = &'a Node> {
        self.drawn.iter().map(|row| &tree.nodes[*row])
    }

    /// Whether boxes are left out.
    pub(super) fn leaves_out(&self) -> bool {
        self.drawn.len() < self.totals.iter().filter(|total| **total > 0).count()
    }

    fn share(&self, weight: u128) -> f64 {
        let whole = self.totals[ROOT];
        if whole == 0 { 0.0 } else { weight as f64 / whole as f64 }
    }

    fn draws(&self, weight: u128) -> bool {
        weight > 0 && self.share(weight) >= self.narrowest
    }
}

/// The boxes, each before those above it.
#[derive(Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Placed>,
    /// How many levels there are.
    pub(super) levels: usize,
}

impl Layout {
    pub(super) fn of(tree: &CallTree, cut: &Cut, names: &Names, measure: &Measure) -> Self {
        let Cut { totals, drawn, .. } = cut;
        let mut layout = Self { boxes: Vec::with_capacity(drawn.len()), levels: 0 };
        let children = Children::sorted(drawn[1..].to_vec(), tree, names);
        let mut pending = vec![(ROOT, 0u128, 0usize)];
        while let Some((row, start, level)) = pending.pop() {
            layout.push(Some(row), cut.share(start), cut.share(totals[row]), level, totals[row]);
            let first = pending.len();
            let mut inner = start;
            for &child in children.of(row) {
                pending.push((child, inner, level + 1));
                inner += totals[child];
            }
            pending[first..].reverse();
            let own = u128::from(measure.own_of(&tree.nodes[row]));
            if row == ROOT && cut.draws(own) {
                layout.push(None, 1.0 - cut.share(own), cut.share(own), 1, own);
            }
        }
        layout
    }

    fn push(&mut self, node: Option<usize>, x: f64, width: f64, level: usize, total: u128) {
        self.boxes.push(Placed { node, x, width, level, total });
        self.levels = self.levels.max(level + 1);
    }

    /// For each category, whether it has a box.
    pub(super) fn drawn_categories(&self, tree: &CallTree) -> Vec<bool> {
        let mut drawn = vec![false; Category::ALL.len()];
        for node in self.boxes.iter().filter_map(|placed| placed.node).map(|row| &tree.nodes[row]) {
            drawn[node.category as usize] |= is_code(node.label);
        }
        drawn
    }
}

/// What each node weighs. The tree's own sums stop at 64 bits; a picture of more must keep its shares.
fn totals(tree: &CallTree, measure: &Measure) -> Vec<u128> {
    let mut inside = vec![0u128; tree.nodes.len()];
    for (row, node) in tree.nodes.iter().enumerate().rev() {
        inside[row] = inside[row].max(u128::from(measure.total_of(node)));
        if row != ROOT {
            inside[node.parent.index()] += inside[row];
        }
    }
    inside
}

/// Rows of the tree, sorted by their parents and then by name.
struct Children {
    rows: Vec<usize>,
    starts: Vec<usize>,
}

impl Children {
    fn sorted(mut rows: Vec<usize>, tree: &CallTree, names: &Names) -> Self {
        rows.sort_by(|a, b| {
            let (a, b) = (&tree.nodes[*a], &tree.nodes[*b]);
            let text = |node| {
                let text = &names.get(node).text;
                (&text.name, &text.place)
            };
            a.parent.cmp(&b.parent).then_with(|| text(a).cmp(&text(b)))
        });
        let mut starts = vec![0; tree.nodes.len() + 1];
        for row in &rows {
            starts[tree.nodes[*row].parent.index() + 1] += 1;
        }
        for row in 1..starts.len() {
            starts[row] += starts[row - 1];
        }
        Self { rows, starts }
    }

    fn of(&self, parent: usize) -> &[usize] {
        &self.rows[self.starts[parent]..self.starts[parent + 1]]
    }
}

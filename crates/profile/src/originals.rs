//! What code was before some tool generated it: TypeScript, or the files that went into a bundle. Where it comes from
//! (source maps) is not known here; a profile is only made anew with it.

use std::collections::BTreeMap;

use crate::address;
use crate::builder::Builder;
use crate::category::Category;
use crate::ids::{FrameId, FunctionId, RowId};
use crate::model::Profile;

/// What the rows of a profile were before they were generated. Rows that are not mentioned stay as they are.
#[derive(Clone, Debug, Default)]
pub struct Originals {
    /// Functions.
    pub functions: BTreeMap<FunctionId, OriginalFunction>,
    /// Every frame of these functions.
    pub frames: BTreeMap<FrameId, OriginalFrame>,
    /// The lines of line ticks in these functions; a tick that is missing here is left out, because its line is that
    /// of another file.
    pub line_ticks: BTreeMap<RowId, u32>,
    /// Whether lines were held against files: see [`crate::Meta::lines_are_checked`].
    pub checks_lines: bool,
    /// What is wrong with where all this came from, a sentence each.
    pub damage: Vec<String>,
}

/// A function as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginalFunction {
    /// Its name.
    pub name: String,
    /// The file that defines it.
    pub path: String,
    /// The line of its definition, from 1; 0 when not known.
    pub line: u32,
    /// The column of its definition, from 1; 0 when not known.
    pub column: u32,
    /// The npm package it belongs to.
    pub package: Option<String>,
    /// Where it belongs.
    pub category: Category,
}

/// A place in such a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginalFrame {
    /// The line that ran, from 1; 0 when not known.
    pub line: u32,
    /// The column that ran, from 1; 0 when not known.
    pub column: u32,
    /// How folded output spells it.
    pub symbol: String,
}

impl Profile {
    /// The same recording with these originals in place of what was generated from them. Functions that were one
    /// before they were generated are one again.
    pub fn with_originals(mut self, originals: &Originals) -> Profile {
        // Files of older versions have URLs.
        let has_urls =
            self.sources.iter().any(|row| address::file_path(self.text(row.path)).is_some());
        if has_urls || !originals.functions.is_empty() {
            self = Builder::copy_with(&self, originals).finish();
        }
        self.meta.lines_are_checked |= originals.checks_lines;
        let known = &mut self.meta.losses.damage;
        for sentence in &originals.damage {
            if !known.contains(sentence) {
                known.push(sentence.clone());
            }
        }
        self
    }
}

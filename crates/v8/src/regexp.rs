//! The code of a regular expression: its frame has the object whose code it is, and that has the pattern.

use crate::frames::{Attempt, JsFrame};
use crate::function::{Function, FunctionKind};
use crate::layout::regexp::ARGUMENT;
use crate::name::Tier;
use crate::reason::Reason;

impl Attempt<'_> {
    /// The pattern of a frame, where it is that of a regular expression.
    pub(crate) fn name_regexp(&mut self) -> Result<JsFrame, Reason> {
        let argument = self.slot(ARGUMENT)?;
        let mut heap = self.heap();
        let object = heap.object(argument)?;
        let sources = &heap.layout.regexp.sources;
        let offset =
            sources.iter().find(|(kind, _)| *kind == object.kind).map(|(_, offset)| *offset);
        let source = heap.word(object.address + offset.ok_or(Reason::OtherCode)?)?;
        let pattern = heap.name(source)?;
        let function = Function {
            name: pattern.into(),
            inferred_name: "".into(),
            script: None,
            generator: None,
            line: 0,
            column: 0,
            kind: FunctionKind::Regexp,
        };
        let function = self.reader.add(function)?;
        Ok(JsFrame { function, line: 0, column: 0, tier: Tier::Unmarked, inlined: Vec::new() })
    }
}

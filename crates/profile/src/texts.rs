//! The text of sources inside a profile: put in where the user asks for it, and taken out everywhere else. A
//! recording that leaves a machine must not carry code by accident.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{SourceId, StringId};
use crate::model::Profile;
use crate::strings::Strings;

impl Profile {
    /// The text of a source, where the recording carries it.
    pub fn source_text(&self, id: SourceId) -> Option<&str> {
        let text = self.sources.get(id.some()?.index())?.text;
        text.some().map(|text| self.text(text))
    }

    /// The same recording with these texts of its sources, and no others.
    pub fn with_source_texts(self, texts: &BTreeMap<SourceId, String>) -> Profile {
        let mut profile = self.without_source_texts();
        let mut rows: BTreeMap<&str, StringId> = BTreeMap::new();
        for (id, text) in texts {
            if let Some(source) = profile.sources.get_mut(id.index()) {
                source.text = *rows.entry(text).or_insert_with(|| profile.strings.push(text));
            }
        }
        profile
    }

    /// The same recording without any text of its sources.
    pub fn without_source_texts(mut self) -> Profile {
        let texts: BTreeSet<StringId> =
            self.sources.iter().filter_map(|source| source.text.some()).collect();
        if texts.is_empty() {
            return self;
        }
        self.sources.iter_mut().for_each(|source| source.text = StringId::NONE);
        // A text may also be a name: then it stays. The others become empty, so that no id changes.
        let names = self.used_strings();
        let mut strings = Strings::default();
        for (row, text) in self.strings.iter().enumerate() {
            let id = StringId::from_index(row);
            strings.push(if texts.contains(&id) && !names.contains(&id) { "" } else { text });
        }
        self.strings = strings;
        self
    }

    /// The strings that some row refers to.
    pub(crate) fn used_strings(&self) -> BTreeSet<StringId> {
        let sources = self.sources.iter().flat_map(|row| [row.path, row.text]);
        let modules = self.modules.iter().flat_map(|row| [row.name, row.build_id]);
        let packages = self.packages.iter().flat_map(|row| [row.name, row.version, row.folder]);
        let processes = self.processes.iter().flat_map(|row| {
            [row.name, row.container, row.node_version, row.app, row.command, row.folder]
        });
        let threads = self.threads.iter().map(|row| row.name);
        let lanes = self.lanes.iter().map(|row| row.name);
        let columns = [
            &self.functions.name,
            &self.functions.package,
            &self.functions.version,
            &self.frames.symbol,
            &self.markers.text,
            &self.loops.problem,
        ];
        let small =
            sources.chain(modules).chain(packages).chain(processes).chain(threads).chain(lanes);
        small.chain(columns.into_iter().flatten().copied()).collect()
    }
}

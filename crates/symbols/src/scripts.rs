//! The scripts of a recording that a transpiler made while modules were loaded, as their parts come in.

use std::collections::BTreeMap;

use trace::ScriptPart;

use crate::source_maps::{RanScript, script_path};

/// All texts and maps of a recording.
const MOST_BYTES: usize = 48 << 20;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Scripts {
    /// By path.
    whole: BTreeMap<String, RanScript>,
    current: Option<(String, RanScript)>,
    bytes: usize,
}

impl Scripts {
    pub(crate) fn take(&mut self, part: &ScriptPart<'_>) {
        match part {
            ScriptPart::Name(name) => {
                self.close();
                let path = std::str::from_utf8(name).ok().and_then(script_path);
                self.current = path.map(|path| (path, RanScript::default()));
            }
            ScriptPart::MapUrl(bytes) => self.append(bytes, |script| &mut script.map_url),
            ScriptPart::Text(bytes) => self.append(bytes, |script| &mut script.text),
        }
    }

    fn append(&mut self, bytes: &[u8], field: impl Fn(&mut RanScript) -> &mut Vec<u8>) {
        let Some((_, script)) = &mut self.current else { return };
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes <= MOST_BYTES {
            field(script).extend_from_slice(bytes);
        } else {
            // Half a map is none.
            script.map_url.clear();
        }
    }

    /// Keeps the script whose parts have come. Two texts under one name: which function is of which is not known.
    fn close(&mut self) {
        let Some((path, script)) = self.current.take() else { return };
        let known = self.whole.entry(path).or_insert_with(|| script.clone());
        if *known != script {
            *known = RanScript::default();
        }
    }

    /// All that have come, by path.
    pub(crate) fn whole(&mut self) -> &BTreeMap<String, RanScript> {
        self.close();
        &self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts_of(parts: &[ScriptPart<'_>]) -> BTreeMap<String, RanScript> {
        let mut scripts = Scripts::default();
        parts.iter().for_each(|part| scripts.take(part));
        scripts.whole().clone()
    }

    #[test]
    fn parts_are_joined_and_two_texts_are_none() {
        use ScriptPart::{MapUrl, Name, Text};
        let one = [
            Name(b"file:///srv/a%20b.ts"),
            MapUrl(b"data:"),
            MapUrl(b",{}"),
            Text(b"f("),
            Text(b")"),
        ];
        let whole = scripts_of(&one);
        let expected = RanScript { map_url: b"data:,{}".to_vec(), text: b"f()".to_vec() };
        assert_eq!(whole, BTreeMap::from([("/srv/a b.ts".to_owned(), expected)]));
        assert_eq!(scripts_of(&[&one[..], &one[..]].concat()), whole);
        let other = [Name(b"/srv/a b.ts"), MapUrl(b"data:,{}"), Text(b"g()")];
        assert_eq!(
            scripts_of(&[&one[..], &other[..]].concat())["/srv/a b.ts"],
            RanScript::default()
        );
        assert!(scripts_of(&[Text(b"x"), Name(b"node:fs"), Text(b"x"), Name(b"\xff")]).is_empty());
    }
}

//! The comments that `perf script --header` puts before the samples: `# hostname : web-3`.

use profile::Meta;

/// Takes over what the comments contain about the recording.
pub(super) fn apply(comments: &[Vec<u8>], meta: &mut Meta) {
    for comment in comments {
        let text = String::from_utf8_lossy(comment);
        let Some((key, value)) = text.trim_start_matches('#').split_once(" : ") else { continue };
        let value = Some(value.trim()).filter(|value| !value.is_empty()).map(str::to_owned);
        match key.trim() {
            "hostname" => meta.host = value,
            "os release" => meta.system = value.map(|release| format!("Linux {release}")),
            "cmdline" => meta.command = value,
            _ => {}
        }
    }
}

//! What was typed to start a process, without what may be secret: the program, its script and the names of its
//! options stay; the values of arguments do not. And the options that matter to a profiler.

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// The first word: the program, or the title that the process gave itself.
    pub(crate) program: String,
    /// The script, if there is one.
    pub(crate) script: Option<String>,
    /// The whole, with values left out.
    pub(crate) redacted: String,
    /// Options of Node and V8 that matter, as `--name` or `--name=value`, from the command line and NODE_OPTIONS.
    pub(crate) flags: Vec<String>,
}

/// Options of Node that take the next word as their value.
const WITH_VALUE: &[&str] = &[
    "-C",
    "-e",
    "-p",
    "-pe",
    "-r",
    "--conditions",
    "--cpu-prof-dir",
    "--debug-port",
    "--env-file",
    "--eval",
    "--experimental-loader",
    "--icu-data-dir",
    "--import",
    "--input-type",
    "--inspect-port",
    "--loader",
    "--openssl-config",
    "--print",
    "--require",
    "--title",
];

/// With these, the program is the value: no script follows.
const WITHOUT_SCRIPT: &[&str] = &["-e", "-p", "-pe", "--eval", "--print"];

/// What changes how a process can be profiled, or how fast it is. A star stands for any end.
const THAT_MATTER: &[&str] = &[
    "--allow-inspector",
    "--cpu-prof*",
    "--debug-port",
    "--disable-sigusr1",
    "--experimental-permission",
    "--inspect*",
    "--interpreted-frames-native-stack",
    "--max-old-space-size",
    "--perf-basic-prof*",
    "--perf-prof*",
    "--permission",
    "--prof",
];

/// What stands for words that are not shown.
const LEFT_OUT: &str = "…";

impl Command {
    /// From the words that it was started with, a zero behind each, and NODE_OPTIONS.
    pub(crate) fn parse(cmdline: &[u8], node_options: Option<&str>) -> Self {
        let text = String::from_utf8_lossy(cmdline);
        let text = text.trim_end_matches(['\0', ' ']);
        // A process that gave itself a title has one word with spaces in it.
        let is_title = !text.contains('\0');
        let words: Vec<&str> = text.split(if is_title { ' ' } else { '\0' }).collect();
        let mut command = Self { program: words[0].to_owned(), ..Self::default() };
        let mut shown = vec![words[0].to_owned()];
        let own = command.read_options(&words, &mut shown);
        command.read_arguments(&words[own..], &mut shown);
        shown.dedup_by(|a, b| a == LEFT_OUT && b == LEFT_OUT);
        command.redacted = shown.join(" ");
        let inherited = node_options.unwrap_or_default().split_whitespace().map(normal);
        command.flags.extend(inherited.filter(|flag| matters(flag)));
        command.flags.sort();
        command.flags.dedup();
        command
    }

    /// The options of Node itself, up to the script. Answers how many words that were.
    fn read_options(&mut self, words: &[&str], shown: &mut Vec<String>) -> usize {
        let mut at = 1;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1)
        {
            at += 1;
            if *word == "--" {
                break;
            }
            let mut flag = normal(word);
            shown.push(if matters(&flag) { flag.clone() } else { without_value(word) });
            if let Some(value) = words.get(at).filter(|_| WITH_VALUE.contains(&flag.as_str())) {
                at += 1;
                shown.push(LEFT_OUT.to_owned());
                flag = format!("{flag}={value}");
            }
            if matters(&flag) {
                self.flags.push(flag);
            }
            if WITHOUT_SCRIPT.contains(&normal(word).as_str()) {
                return at;
            }
        }
        if let Some(script) = words.get(at) {
            self.script = Some((*script).to_owned());
            shown.push((*script).to_owned());
            at += 1;
        }
        at
    }

    /// The arguments of the script: names of options stay.
    fn read_arguments(&self, words: &[&str], shown: &mut Vec<String>) {
        let is_option = |word: &str| {
            let name = word.trim_start_matches('-');
            name.len() < word.len() && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        };
        for word in words {
            shown.push(if is_option(word) { without_value(word) } else { LEFT_OUT.to_owned() });
        }
    }

    /// Whether the permission model keeps the inspector closed.
    pub(crate) fn forbids_inspector(&self) -> bool {
        let has = |flag: &str| self.flag(flag).is_some();
        (has("--permission") || has("--experimental-permission")) && !has("--allow-inspector")
    }

    /// The port that a flag names: `--inspect-port=9300`, `--inspect=0.0.0.0:9300`, `--inspect=9300`.
    pub(crate) fn wanted_port(&self) -> Option<u16> {
        let names =
            ["--inspect-port", "--debug-port", "--inspect", "--inspect-brk", "--inspect-wait"];
        names.iter().find_map(|name| self.flag(name)?.rsplit(':').next()?.parse().ok())
    }

    /// The value of a flag, or an empty text where it has none.
    pub(crate) fn flag(&self, name: &str) -> Option<&str> {
        self.flags.iter().find_map(|flag| match flag.split_once('=') {
            Some((known, value)) => (known == name).then_some(value),
            None => (flag == name).then_some(""),
        })
    }
}

/// V8 takes `_` for `-` in the names of its options.
fn normal(option: &str) -> String {
    match option.split_once('=') {
        Some((name, value)) => format!("{}={value}", name.replace('_', "-")),
        None => option.replace('_', "-"),
    }
}

fn matters(flag: &str) -> bool {
    let name = flag.split('=').next().unwrap_or(flag);
    THAT_MATTER.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *known,
    })
}

/// `--token=secret` → `--token=…`. A short option may carry its value behind its letter: `-psecret` → `-p…`.
fn without_value(option: &str) -> String {
    if let Some((name, _)) = option.split_once('=') {
        return format!("{name}={LEFT_OUT}");
    }
    let is_short = !option.starts_with("--") && option.chars().count() > 2;
    match option.char_indices().nth(2).filter(|_| is_short) {
        Some((end, _)) if !WITH_VALUE.contains(&option) => format!("{}{LEFT_OUT}", &option[..end]),
        _ => option.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Command {
        Command::parse(words.replace(' ', "\0").as_bytes(), None)
    }

    #[test]
    fn values_are_left_out() {
        for (typed, shown) in [
            ("node server.js --port 3000", "node server.js --port …"),
            ("node server.js --token=secret a b c", "node server.js --token=… …"),
            ("node -e secret() more", "node -e …"),
            ("node -r ./secret.js app.js", "node -r … app.js"),
            ("node --perf_basic_prof app.js", "node --perf-basic-prof app.js"),
            ("node --max-old-space-size=512 app.js", "node --max-old-space-size=512 app.js"),
            ("node --title=secret -- app.js", "node --title=… app.js"),
            ("node app.js -psecret -v -", "node app.js -p… -v …"),
            ("node app.js -12345", "node app.js …"),
            ("node", "node"),
        ] {
            assert_eq!(parse(typed).redacted, shown, "{typed}");
        }
        assert_eq!(Command::parse(b"npm run dev --x=1\0\0\0", None).redacted, "npm run … --x=…");
        assert_eq!(Command::parse(b"", None).redacted, "");
    }

    #[test]
    fn flags_come_from_both_places() {
        let command = Command::parse(
            b"node\0--perf_basic_prof\0--inspect-port\09300\0app.js\0--prof\0",
            Some("--max_old_space_size=512 --no-warnings  --inspect"),
        );
        let flags =
            ["--inspect", "--inspect-port=9300", "--max-old-space-size=512", "--perf-basic-prof"]
                .map(String::from);
        assert_eq!(command.flags, flags);
        assert_eq!(
            (command.flag("--inspect"), command.flag("--inspect-port")),
            (Some(""), Some("9300"))
        );
        assert_eq!(command.flag("--prof"), None);
        assert_eq!(command.script.as_deref(), Some("app.js"));
    }

    #[test]
    fn no_bytes_are_too_strange() {
        for bytes in [
            &b"\0\0"[..],
            b"-",
            b"\xff\0-\xc3\0\xe2\x82",
            b"node\0-\xe6\xbc\xa2\xe5\xad\x97\0",
            b" ",
        ] {
            Command::parse(bytes, Some("\u{0}--inspect=\u{0}"));
        }
    }

    #[test]
    fn flags_name_the_port() {
        let wanted = |flag: &str| {
            Command::parse(format!("node\0{flag}\0a.js").as_bytes(), None).wanted_port()
        };
        assert_eq!(wanted("--inspect"), None);
        assert_eq!(wanted("--inspect=9300"), Some(9300));
        assert_eq!(wanted("--inspect-brk=[::1]:9301"), Some(9301));
        assert_eq!(wanted("--inspect=localhost"), None);
        assert_eq!(wanted("--inspect=127.0.0.1:0"), Some(0));
        assert_eq!(wanted("--inspect_port=99999"), None);
    }
}

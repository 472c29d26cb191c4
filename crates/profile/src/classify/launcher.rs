//! Which processes only start others: npm, npx, yarn, pnpm and their like, around the program that a recording is
//! about.

/// The file names of their scripts, and the titles that they give themselves.
const LAUNCHERS: &[&str] = &[
    "corepack",
    "corepack.js",
    "npm",
    "npm-cli.js",
    "npx",
    "npx-cli.js",
    "pnpm",
    "pnpm.cjs",
    "pnpm.mjs",
    "pnpx",
    "yarn",
    "yarn.cjs",
    "yarn.js",
    "yarnpkg",
];

/// Whether a command line is that of a launcher: `npx vitest run`, `node /usr/bin/npm test`, `npm exec vitest`.
pub fn is_launcher(command: &str) -> bool {
    let mut words = command.split(' ').map(|word| word.rsplit('/').next().unwrap_or(word));
    let Some(program) = words.next() else { return false };
    let script = words.find(|word| !word.starts_with('-'));
    is_named(program) || super::module::is_node_program(program) && script.is_some_and(is_named)
}

fn is_named(word: &str) -> bool {
    LAUNCHERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers() {
        for command in [
            "npx vitest run",
            "npm exec vitest run",
            "node /usr/bin/npm test",
            "/usr/bin/node --no-warnings /opt/lib/node_modules/npm/bin/npx-cli.js vitest",
            "node /root/.cache/node/corepack/yarn/4.1.0/yarn.js …",
            "pnpm",
        ] {
            assert!(is_launcher(command), "{command}");
        }
        for command in [
            "node server.js npm",
            "node /srv/npm/server.js",
            "vitest run",
            "python3 npm",
            "",
            "node",
        ] {
            assert!(!is_launcher(command), "{command}");
        }
    }
}

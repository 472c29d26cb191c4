//! What a process is for, among the others: an application, the primary or a worker of a cluster, or one of the
//! tools that merely start applications.

use std::collections::HashMap;

use serde::Serialize;

use crate::command::Command;

/// What a process is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Role {
    /// A program on its own.
    App,
    /// It started workers that share its sockets.
    Primary,
    /// A worker of a cluster.
    Worker {
        /// Its number, counted from 1.
        number: Option<u32>,
    },
    /// It starts or watches applications, and is not what the user means to profile.
    Tool {
        /// Which one.
        name: &'static str,
    },
}

/// What roles are derived from.
#[derive(Clone, Debug)]
pub(crate) struct Traits {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) command: Command,
    /// `None` where it may not be read.
    pub(crate) environment: Option<Environment>,
    /// Whether it started this very program.
    pub(crate) is_ancestor: bool,
}

/// The variables that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    /// The number of a cluster's worker.
    pub(crate) unique_id: Option<u32>,
    /// The number that pm2 gave to an application.
    pub(crate) pm_id: Option<String>,
    /// What pm2 calls that application, where there is such a number; else this may mean anything.
    pub(crate) name: Option<String>,
    pub(crate) node_options: Option<String>,
}

/// Tools by the file names of their scripts, or by the titles that they give themselves.
const TOOLS: &[(&str, &[&str])] = &[
    ("npm", &["npm", "npm-cli.js", "npx", "npx-cli.js"]),
    ("yarn", &["yarn", "yarn.js", "yarn.cjs", "yarnpkg"]),
    ("pnpm", &["pnpm", "pnpm.cjs", "pnpm.mjs", "pnpx"]),
    ("corepack", &["corepack", "corepack.js"]),
    ("nodemon", &["nodemon", "nodemon.js"]),
    ("pm2", &["PM2", "pm2", "pm2-runtime", "pm2-docker", "pm2-dev", "Daemon.js"]),
];

const OURSELVES: &str = "started nodescope";

/// pm2 runs every application from a script of its own.
const PM2_CONTAINER: &str = "pm2/lib/ProcessContainer";

impl Environment {
    /// From /proc/PID/environ.
    pub(crate) fn parse(environ: &[u8]) -> Self {
        let mut found = Self::default();
        for variable in environ.split(|byte| *byte == 0) {
            let variable = String::from_utf8_lossy(variable);
            match variable.split_once('=') {
                Some(("NODE_UNIQUE_ID", value)) => found.unique_id = value.parse().ok(),
                Some(("pm_id", value)) => found.pm_id = Some(value.to_owned()),
                Some(("name", value)) => found.name = Some(value.to_owned()),
                Some(("NODE_OPTIONS", value)) => found.node_options = Some(value.to_owned()),
                _ => (),
            }
        }
        found.name = found.name.filter(|name| found.pm_id.is_some() && !name.is_empty());
        found
    }
}

/// The role of each process, in their order.
pub(crate) fn roles(processes: &[Traits]) -> Vec<Role> {
    let by_pid: HashMap<u32, &Traits> =
        processes.iter().map(|process| (process.pid, process)).collect();
    let parent_of = |process: &Traits| by_pid.get(&process.parent).copied();
    let worker = |process: &Traits| match &process.environment {
        Some(environment) => {
            environment.unique_id.filter(|_| parent_of(process).is_some()).map(Some)
        }
        None => parent_of(process).filter(|parent| runs_the_same(process, parent)).map(|_| None),
    };
    let has_workers = |primary: &Traits| {
        processes.iter().any(|process| process.parent == primary.pid && worker(process).is_some())
    };
    let role = |process: &Traits| match (tool(process), worker(process)) {
        (Some(name), _) => Role::Tool { name },
        (None, Some(number)) => Role::Worker { number },
        (None, None) if has_workers(process) => Role::Primary,
        (None, None) => Role::App,
    };
    processes.iter().map(role).collect()
}

/// pm2's number for an application, or an empty text where only the command line shows that pm2 runs it.
pub(crate) fn pm2(process: &Traits) -> Option<String> {
    let by_command =
        || process.command.script.as_deref().is_some_and(|script| script.contains(PM2_CONTAINER));
    let number = process.environment.as_ref().and_then(|environment| environment.pm_id.clone());
    number.or_else(|| by_command().then(String::new))
}

/// What pm2 calls an application.
pub(crate) fn pm2_name(process: &Traits) -> Option<String> {
    process.environment.as_ref().and_then(|environment| environment.name.clone())
}

fn runs_the_same(process: &Traits, parent: &Traits) -> bool {
    process.command.script.is_some()
        && process.command.script == parent.command.script
        && tool(parent).is_none()
}

fn tool(process: &Traits) -> Option<&'static str> {
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let words = [Some(base(&process.command.program)), process.command.script.as_deref().map(base)];
    let is_called =
        |names: &[&str]| words.iter().flatten().any(|word| names.contains(&word.as_str()));
    let known = TOOLS.iter().find(|(_, names)| is_called(names)).map(|(tool, _)| *tool);
    known.or_else(|| process.is_ancestor.then_some(OURSELVES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, words: &str, environ: Option<&str>) -> Traits {
        let environment =
            environ.map(|environ| Environment::parse(environ.replace(' ', "\0").as_bytes()));
        let command = Command::parse(words.replace(' ', "\0").as_bytes(), None);
        Traits { pid, parent, command, environment, is_ancestor: false }
    }

    #[test]
    fn a_cluster_has_a_primary_and_workers() {
        let processes = [
            process(10, 1, "node app.js", Some("A=1")),
            process(11, 10, "node app.js", Some("NODE_UNIQUE_ID=1")),
            process(12, 10, "node app.js", Some("NODE_UNIQUE_ID=2 pm_id=x")),
            process(13, 1, "node other.js", Some("")),
            process(14, 13, "node other.js", Some("")),
            process(15, 1, "node hidden.js", None),
            process(16, 15, "node hidden.js", None),
        ];
        let worker = |number| Role::Worker { number };
        assert_eq!(
            roles(&processes),
            [
                Role::Primary,
                worker(Some(1)),
                worker(Some(2)),
                Role::App,
                Role::App,
                Role::Primary,
                worker(None)
            ]
        );
    }

    #[test]
    fn tools_are_recognised_by_script_or_title() {
        let titled = |title: &str| {
            let command = Command::parse(title.as_bytes(), None);
            Traits { command, ..process(1, 0, "", Some("")) }
        };
        let tools = [
            process(1, 0, "node /usr/bin/npm start", Some("")),
            process(1, 0, "/usr/bin/node /srv/node_modules/nodemon/bin/nodemon.js app.js", None),
            titled("npm run dev"),
            titled("PM2 v5.3.0: God Daemon (/srv/.pm2)"),
        ];
        let names = ["npm", "nodemon", "npm", "pm2"];
        for (process, name) in tools.iter().zip(names) {
            assert_eq!(roles(std::slice::from_ref(process)), [Role::Tool { name }]);
        }
        let app = process(5, 1, "node /srv/npm-mirror/server.js npm", Some("pm_id=3"));
        assert_eq!(roles(std::slice::from_ref(&app)), [Role::App]);
        assert_eq!(pm2(&app).as_deref(), Some("3"));
        assert_eq!(pm2_name(&app), None);
        let named = process(5, 1, "node app.js", Some("name=api pm_id=3"));
        assert_eq!(pm2_name(&named).as_deref(), Some("api"));
        assert_eq!(pm2_name(&process(5, 1, "node app.js", Some("name=secret"))), None);
        let ancestor = Traits { is_ancestor: true, ..app };
        assert_eq!(roles(&[ancestor]), [Role::Tool { name: OURSELVES }]);
    }
}

//! Which process a recording is of: application, command, folder and ports, in `ps`, in targets, in the file, its name
//! and the page's title; and launchers, which are not what a recording is about.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json as value};

use crate::program::running::{Running, can_record};
use crate::program::{Scratch, fails, json, nodescope, stderr, stdout, succeeds};

/// Prints its port, and is busy for a third of the time.
const APP: &str = "
function simmer(ms) { const end = Date.now() + ms; while (Date.now() < end); }
const server = require('http').createServer((_, answer) => answer.end());
server.listen(0, '127.0.0.1', () => {
  require('fs').writeFileSync('port', String(server.address().port));
  console.log('ready');
});
setInterval(() => simmer(50), 150);
";

/// A folder with an application.
fn app(scratch: &Scratch, folder: &str, package: Option<&str>) {
    let path = scratch.0.join(folder);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("app.js"), APP).unwrap();
    if let Some(package) = package {
        fs::write(path.join("package.json"), package).unwrap();
    }
}

fn start(scratch: &Scratch, folder: &str, variables: &[(&str, &str)]) -> Running {
    let mut command = Command::new("node");
    command.arg("app.js").arg("--token=secret-value").current_dir(scratch.0.join(folder));
    command.env_remove("NODE_OPTIONS").env_remove("pm_id").env_remove("name");
    Running::start(command.envs(variables.iter().copied()))
}

fn port(scratch: &Scratch, folder: &str) -> u16 {
    fs::read_to_string(scratch.0.join(folder).join("port")).unwrap().parse().unwrap()
}

/// The names of applications, which no other program on this machine has.
fn shop() -> String {
    format!("@acme/shop-{}", std::process::id())
}

fn mailer() -> String {
    format!("mailer-{}", std::process::id())
}

fn shop_package() -> String {
    format!(r#"{{"name":"{}"}}"#, shop())
}

/// Three that run the same command.
fn three(scratch: &Scratch) -> [Running; 3] {
    app(scratch, "shop", Some(&shop_package()));
    app(scratch, "billing", Some(r#"{"name":"bill\u001b[31ming"}"#));
    app(scratch, "mail", None);
    [
        start(scratch, "shop", &[]),
        start(scratch, "billing", &[]),
        start(scratch, "mail", &[("pm_id", "3"), ("name", &mailer()), ("SECRET", "secret-value")]),
    ]
}

/// Applications of the same name are distinguished by their folders: one test at a time has some.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn three_of_a_kind_are_distinguished() {
    let _alone = alone();
    let scratch = Scratch::new("identity-ps");
    let folder = fs::canonicalize(&scratch.0).unwrap();
    let running = three(&scratch);
    let list = json(&["ps", "--json"]);
    let (shop, mailer) = (shop(), mailer());
    for (node, (name, app)) in
        running.iter().zip([("shop", &*shop), ("billing", "bill\u{1b}[31ming"), ("mail", &*mailer)])
    {
        let pid = u64::from(node.0.id());
        let process =
            list.as_array().unwrap().iter().find(|process| process["pid"] == pid).unwrap();
        assert_eq!(process["app"], app, "{process}");
        assert_eq!(process["folder"], folder.join(name).to_str().unwrap());
        assert_eq!(process["script"], folder.join(name).join("app.js").to_str().unwrap());
        assert_eq!(process["ports"], value!([port(&scratch, name)]));
    }
    let table = nodescope(&["ps"]).env("COLUMNS", "200").output().unwrap();
    let table = stdout(&table);
    for text in [&*shop, &*mailer, "app", "ports", "folder", &port(&scratch, "shop").to_string()] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let narrow = stdout(&nodescope(&["ps"]).env("COLUMNS", "80").output().unwrap());
    // Names are cut where others on this machine need the room.
    assert!(narrow.contains("@acme/") && narrow.contains("ways in"), "{narrow}");
    assert!(
        !table.contains('\u{1b}') && !(list.to_string() + &table).contains("secret-value"),
        "{table}"
    );

    // An application, pm2's name and a script's path are targets; what all share is not.
    let found = |target: &str| {
        let checks = json(&["doctor", "--json", target]);
        let process = checks.as_array().unwrap().iter().find(|check| check["what"] == "process");
        process.unwrap()["found"].as_str().unwrap().to_owned()
    };
    for (target, node) in [
        (&*shop, &running[0]),
        (&*mailer, &running[2]),
        (folder.join("billing/app.js").to_str().unwrap(), &running[1]),
    ] {
        assert!(
            found(target).starts_with(&format!("{} is Node", node.pid())),
            "{target}: {}",
            found(target)
        );
    }
    let parent = folder.join("mail");
    let relative =
        nodescope(&["dump", "--json", "./app.js"]).current_dir(&parent).output().unwrap();
    let dump: Value = serde_json::from_slice(&relative.stdout).unwrap();
    assert_eq!(dump["pid"], u64::from(running[2].0.id()), "{dump}");
    let name = folder.file_name().unwrap().to_str().unwrap();
    fails(
        &["record", &format!("{name}/"), "-d", "1s"],
        2,
        &format!("{shop}: node app.js"),
        "name one by its pid",
    );
}

/// The one recording in a folder.
fn written(folder: &std::path::Path) -> String {
    let files =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let found: Vec<String> = files.filter(|path| path.ends_with(".nodescope")).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_recording_names_its_process() {
    if !can_record() {
        return;
    }
    let _alone = alone();
    let scratch = Scratch::new("identity-record");
    let folder = fs::canonicalize(&scratch.0).unwrap();
    app(&scratch, "shop", Some(&shop_package()));
    let shop = shop();
    let node = start(&scratch, "shop", &[]);
    for way in ["perf", "inspector"] {
        let place = folder.join(way);
        fs::create_dir_all(&place).unwrap();
        let words = ["record", &shop, "--via", way, "-F", "499", "-d", "1500ms"];
        let output = nodescope(&words).current_dir(&place).output().unwrap();
        assert!(output.status.success(), "{way}: {}", stderr(&output));
        let file = written(&place);
        let start = format!("/nodescope-acme-shop-{}-{}-", std::process::id(), node.pid());
        assert!(file.contains(&start), "{file}");
        let report = json(&["report", "--json", &file]);
        assert_eq!(report["command"], "node app.js --token=…", "{way}");
        let process = &report["processes"][0];
        assert_eq!((&process["app"], &process["command"]), (&value!(shop), &report["command"]));
        assert_eq!(process["folder"], folder.join("shop").to_str().unwrap(), "{way}");
        assert_eq!(process["ports"], value!([port(&scratch, "shop")]), "{way}");
        assert_eq!(process["pid"], u64::from(node.0.id()));
        let page = succeeds(&["export", &file, "-o", "-", "--to", "html"]);
        assert!(page.contains(&format!("<title>{shop} · pid {} · nodescope</title>", node.pid())));
        assert!(!page.contains("secret-value"));
        let picture = succeeds(&["export", &file, "-o", "-", "--to", "svg"]);
        assert!(picture.contains(&format!("{shop} {} · ", node.pid())), "{}", &picture[..2000]);
    }
}

/// Burns CPU inside of a package, and then runs the rest of the program.
fn burning(package: &str, ms: u32, rest: &str) -> String {
    format!(
        "const spent = () => {{ const {{ user, system }} = process.cpuUsage(); return (user + system) / 1000; }};
         const burn = require('./node_modules/{package}/index.js');
         {rest}
         const rounds = setInterval(() => {{ burn(20); if (spent() > {ms}) clearInterval(rounds); }}, 1);"
    )
}

#[test]
fn a_launcher_is_not_what_a_recording_is_about() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("identity-launcher");
    for package in ["npm", "lodash"] {
        fs::create_dir_all(scratch.0.join("node_modules").join(package)).unwrap();
        let text = "module.exports = function burn(ms) { const end = Date.now() + ms; while (Date.now() < end); };";
        fs::write(scratch.0.join("node_modules").join(package).join("index.js"), text).unwrap();
    }
    // The child runs until it was seen to be what it is.
    let child = burning("lodash", 900, "setTimeout(() => {}, 3000);");
    scratch.file("tests.js", child.as_bytes());
    let launch = "require('child_process').spawn(process.execPath, ['tests.js', 'run'], { stdio: 'inherit' });";
    let launcher = scratch.file("npx", burning("npm", 1800, launch).as_bytes());
    let out = scratch.path("a.nodescope");
    let words = ["record", "-F", "499", "-o", &out, "--", "node", &launcher, "tests", "run"];
    let output = nodescope(&words).current_dir(&scratch.0).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = json(&["report", "--json", &out]);
    assert_eq!(report["packages"][0]["name"], "lodash", "{}", report["packages"]);
    assert!(!report["packages"].to_string().contains("\"npm\""), "{}", report["packages"]);
    assert_eq!(report["command"], "node tests.js …");
    let launchers: Vec<bool> = report["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["is_launcher"] == true)
        .collect();
    assert_eq!(launchers.first(), Some(&false), "{}", report["processes"]);
    assert!(launchers.contains(&true), "{}", report["processes"]);
    assert!(!stdout(&output).contains("npm packages, npm caused"), "{}", stdout(&output));
}

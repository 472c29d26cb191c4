//! The list, on a made-up /proc: what is found, what is hidden, and that hostile files do no harm.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use target::{InspectorWay, List, Places, Proc, Process, Role};

use crate::skip::skip;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A folder that looks like /proc, with ourselves as pid 9 of user 1000.
struct Made {
    folder: PathBuf,
}

impl Made {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("nodescope-proc-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let made = Self { folder };
        made.write("uptime", "1000.00 4000.00\n");
        made.write("sys/kernel/perf_event_paranoid", "2\n");
        let uid = made.uid();
        made.write("passwd", format!("root:x:0:0::/:/bin/sh\nann:x:{uid}:{uid}::/:/bin/sh\n"));
        made.process(8, 1, "/bin/sh", &["sh"]);
        made.process(9, 8, "/bin/sh", &["nodescope", "ps"]);
        symlink("9", made.folder.join("self")).unwrap();
        made
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Whose the processes are: the user that owns the files, but no root.
    fn uid(&self) -> u32 {
        Some(fs::metadata(&self.folder).unwrap().uid()).filter(|uid| *uid != 0).unwrap_or(1000)
    }

    /// A process of `ann` that listens to SIGUSR1 and runs for 900 s.
    fn process(&self, pid: u32, parent: u32, exe: &str, words: &[&str]) {
        let uid = self.uid();
        let status = format!(
            "Name:\tx\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}\nThreads:\t11\n\
             SigBlk:\t0000000000000000\nSigCgt:\t0000000000000200\nCapEff:\t0000000000000000\nSeccomp:\t0\n"
        );
        self.write(&format!("{pid}/status"), status);
        let stat =
            format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 500 100 0 0 20 0 11 0 10000 0 0\n");
        self.write(&format!("{pid}/stat"), stat);
        self.write(&format!("{pid}/cmdline"), words.join("\0") + "\0");
        self.write(&format!("{pid}/environ"), "");
        self.write(&format!("{pid}/cgroup"), "0::/\n");
        fs::create_dir_all(self.folder.join(format!("{pid}/fd"))).unwrap();
        fs::create_dir_all(self.folder.join(format!("{pid}/ns"))).unwrap();
        fs::create_dir_all(self.folder.join(format!("{pid}/root/tmp"))).unwrap();
        symlink("net:[1]", self.folder.join(format!("{pid}/ns/net"))).unwrap();
        symlink(exe, self.folder.join(format!("{pid}/exe"))).unwrap();
    }

    fn list(&self) -> List {
        let places = Places {
            proc: Proc::new(&self.folder),
            passwd: self.folder.join("passwd"),
            sockets: Vec::new(),
            pod_logs: self.folder.join("logs"),
            bundles: Vec::new(),
            ports: true,
            only: None,
        };
        target::list(&places, Duration::ZERO).unwrap()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The real Node on the PATH.
fn node() -> Option<String> {
    let output = Command::new("node").args(["-p", "process.execPath"]).output().ok()?;
    let path = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    Path::new(&path).is_file().then_some(path)
}

fn find(list: &List, pid: u32) -> &Process {
    list.processes.iter().find(|process| process.pid == pid).unwrap()
}

#[test]
fn everything_is_put_together() {
    let Some(node) = node() else { return skip("a made-up /proc: node is not here") };
    let made = Made::new("all");
    made.process(20, 1, &node, &["node", "server.js", "--token", "secret"]);
    made.write("20/environ", "NODE_OPTIONS=--max_old_space_size=512\0pm_id=4\0SECRET=secret\0");
    made.write("20/cgroup", format!("0::/system.slice/docker-{ID}.scope\n"));
    let status = fs::read_to_string(made.folder.join("20/status")).unwrap();
    made.write("20/status", status.replace("NSpid:\t20", "NSpid:\t20\t1"));
    made.write("20/root/tmp/perf-1.map", "1000 10 f\n");
    made.write("20/root/srv/shop/package.json", r#"{"name":"shop"}"#);
    symlink("/srv/shop", made.folder.join("20/cwd")).unwrap();
    made.write(
        "20/net/tcp",
        "  sl\n   0: 0100007F:240E 00000000:0000 0A 0:0 0:0 0 0 0 77 1\n   1: 00000000:1F90 00000000:0000 0A 0:0 0:0 0 0 0 78 1\n",
    );
    symlink("socket:[77]", made.folder.join("20/fd/20")).unwrap();
    symlink("socket:[78]", made.folder.join("20/fd/21")).unwrap();
    made.process(21, 1, "/bin/sh", &["node", "server.js"]);
    made.process(22, 1, &node, &["npm start"]);
    made.process(23, 1, &node, &["node", "other.js"]);
    let list = made.list();
    let pids: Vec<u32> = list.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [20, 23, 22], "no shell called node, and tools last");
    let process = find(&list, 20);
    assert_eq!(process.command, "node server.js --token …");
    assert_eq!(process.flags, ["--max-old-space-size=512"]);
    assert_eq!((process.inner_pid, process.threads, process.uptime_s), (1, 11, 900.0));
    assert_eq!((process.user.as_deref(), process.pm2_id.as_deref()), (Some("ann"), Some("4")));
    assert_eq!(process.container.as_ref().unwrap().id, ID);
    assert_eq!(
        (process.app.as_deref(), process.folder.as_deref()),
        (Some("shop"), Some("/srv/shop"))
    );
    assert_eq!(
        (process.script.as_deref(), &process.ports[..]),
        (Some("/srv/shop/server.js"), &[8080][..])
    );
    assert_eq!(process.perf_map.as_ref().unwrap().bytes, 10);
    assert!(process.node_version.as_ref().unwrap().starts_with('v'));
    assert!(process.ways.perf.open && process.ways.names.open && process.is_certain);
    assert_eq!(process.ways.inspector, InspectorWay::Open { port: 9230 });
    assert_eq!(find(&list, 22).role, Role::Tool { name: "npm" });
    assert_eq!(
        find(&list, 23).ways.inspector,
        InspectorWay::CanBeOpened,
        "the port is not its own"
    );
    assert_eq!(find(&list, 23).ways.names.why, "read from its memory");
}

#[test]
fn hostile_files_do_no_harm() {
    let Some(node) = node() else { return skip("hostile files: node is not here") };
    let made = Made::new("hostile");
    made.process(30, 1, &node, &["node", &"x".repeat(1 << 20)]);
    made.write("30/environ", vec![b'A'; 1 << 20]);
    symlink("/etc/passwd", made.folder.join("30/root/tmp/perf-30.map")).unwrap();
    made.process(31, 1, &node, &["node", "\u{1b}[31m"]);
    fs::remove_file(made.folder.join("31/cgroup")).unwrap();
    let fifo = made.folder.join("31/cgroup");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    made.process(32, 1, &node, &["node"]);
    fs::remove_file(made.folder.join("32/stat")).unwrap();
    made.process(33, 1, &fifo.display().to_string(), &["node"]);
    let started = Instant::now();
    let list = made.list();
    assert!(started.elapsed() < Duration::from_secs(60));
    let pids: Vec<u32> = list.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [30, 31], "a process that has ended is left out");
    assert!(find(&list, 30).command.len() <= 64 << 10);
    assert_eq!(find(&list, 30).perf_map, None, "a link is no map");
}

/// Every user may write into the folder of perf maps.
#[test]
fn a_map_of_another_user_is_none() {
    let Some(node) = node() else {
        return skip("a strange perf map: node is not here");
    };
    let made = Made::new("strange-map");
    for pid in [40, 41] {
        made.process(pid, 1, &node, &["node"]);
        made.write(&format!("{pid}/root/tmp/perf-{pid}.map"), "1000 10 f\n");
    }
    let strange = made.folder.join("41/root/tmp/perf-41.map");
    if chown(strange, Some(made.uid() + 1), None).is_err() {
        return skip("a strange perf map: only root can give a file away");
    }
    let list = made.list();
    assert!(find(&list, 40).perf_map.is_some());
    assert_eq!(find(&list, 41).perf_map, None);
}

#[test]
fn one_look_at_a_binary_is_enough() {
    let Some(node) = node() else { return skip("many processes: node is not here") };
    let made = Made::new("many");
    for pid in 100..400 {
        made.process(pid, 1, &node, &["node", "server.js"]);
    }
    let started = Instant::now();
    assert_eq!(made.list().processes.len(), 300);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// Compiles a program or a library in `folder`.
fn compile(folder: &Path, source: &str, arguments: &[&str]) -> bool {
    let file = folder.join("source.c");
    fs::write(&file, source).unwrap();
    let mut command = Command::new("cc");
    command.arg(&file).args(arguments).current_dir(folder);
    command.output().is_ok_and(|output| output.status.success())
}

/// Distributions keep Node in a library, and other runtimes offer Node's interface to addons.
#[test]
fn libnode_is_node_and_lookalikes_are_not() {
    let made = Made::new("libnode");
    let folder = &made.folder.join("bin");
    fs::create_dir_all(folder).unwrap();
    let library = "const char version[] = \"v20.19.2\"; int _ZN4node5StartEiPPc(int a, char **b) { return a; }";
    let program = "int _ZN4node5StartEiPPc(int, char **); int main(int a, char **b) { return _ZN4node5StartEiPPc(a, b); }";
    let lookalike = "int napi_create_function; int uv_run; int main() { return 0; }";
    let is_made = compile(
        folder,
        library,
        &["-shared", "-fPIC", "-Wl,-soname,libnode.so.115", "-o", "libnode.so.115"],
    ) && compile(folder, program, &["libnode.so.115", "-o", "node"])
        && compile(folder, lookalike, &["-rdynamic", "-o", "bun"]);
    if !is_made {
        return skip("libnode: there is no C compiler");
    }
    let path = |name: &str| folder.join(name).display().to_string();
    made.process(40, 1, &path("node"), &["node", "a.js"]);
    made.write("40/maps", "7f00-7f10 r-xp 00000000 fe:00 12    /usr/lib/libnode.so.115\n");
    fs::create_dir_all(made.folder.join("40/root/usr/lib")).unwrap();
    fs::copy(path("libnode.so.115"), made.folder.join("40/root/usr/lib/libnode.so.115")).unwrap();
    made.process(41, 1, &path("node"), &["node", "a.js"]);
    made.write("41/maps", "7f00-7f10 r-xp 00000000 fe:00 12    /usr/lib/libc.so.6\n");
    made.process(42, 1, &path("bun"), &["node", "a.js"]);
    let list = made.list();
    let found: Vec<_> =
        list.processes.iter().map(|process| (process.pid, process.node_version.clone())).collect();
    assert_eq!(found, [(40, Some("v20.19.2".to_owned()))]);
}

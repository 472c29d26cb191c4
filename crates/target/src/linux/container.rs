//! The container that a process is in: its id from the cgroup, its name from docker or podman, its pod from the
//! names of log files, or from what containerd and CRI-O keep of each container that they run.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use http::{Answer, Connection, Limits, Request};
use serde::Serialize;

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Container {
    /// 64 hexadecimal digits; on Fargate 32 and a number.
    pub id: String,
    /// What docker or podman calls it; in a pod, what the pod calls it.
    pub name: Option<String>,
    /// The pod that it belongs to.
    pub pod: Option<String>,
    /// The namespace of that pod.
    pub namespace: Option<String>,
}

/// Asks for names, each container and each silent socket once.
#[derive(Debug)]
pub(crate) struct Containers {
    sockets: Vec<PathBuf>,
    pods: HashMap<String, Container>,
    bundles: Vec<PathBuf>,
    known: HashMap<String, Container>,
}

/// How long a container engine has for its answer, and more than one ever sends about one container.
const LIMITS: Limits =
    Limits { time: Duration::from_millis(300), head_bytes: 64 << 10, body_bytes: 1 << 20 };

/// More namespaces than containerd is ever given.
const MOST_NAMESPACES: usize = 1000;

/// More logs than a machine has containers.
const MOST_LOGS: usize = 20_000;

impl Containers {
    pub(crate) fn new(sockets: &[PathBuf], pod_logs: &Path, bundles: &[PathBuf]) -> Self {
        // /var/run is often a link to /run: the same engine is asked once.
        let real: BTreeSet<PathBuf> =
            sockets.iter().filter_map(|socket| fs::canonicalize(socket).ok()).collect();
        let sockets = real.into_iter().collect();
        Self { sockets, pods: pods(pod_logs), bundles: bundles.to_vec(), known: HashMap::new() }
    }

    /// From the text of /proc/PID/cgroup.
    pub(crate) fn find(&mut self, cgroup: &str) -> Option<Container> {
        let id = container_id(cgroup)?;
        if let Some(known) = self.known.get(id).or_else(|| self.pods.get(id)) {
            return Some(known.clone());
        }
        let in_bundle = self.bundles.iter().find_map(|folder| bundle(folder, id));
        let container = in_bundle.unwrap_or_else(|| Container {
            id: id.to_owned(),
            name: self.ask(id),
            ..Container::default()
        });
        self.known.insert(id.to_owned(), container.clone());
        Some(container)
    }

    /// Asks each engine; one that does not answer in time is not asked again.
    fn ask(&mut self, id: &str) -> Option<String> {
        let mut name = None;
        self.sockets.retain(|socket| {
            if name.is_some() {
                return true;
            }
            let answer = ask_in_time(socket, &format!("/containers/{id}/json"));
            name = answer.as_ref().ok().and_then(|answer| name_in(&answer.body));
            answer.is_ok()
        });
        name
    }
}

/// The id at the end of a control group's path: docker, containerd, CRI-O, podman, Fargate; version 1 and 2.
fn container_id(cgroup: &str) -> Option<&str> {
    let paths = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.into_iter().find_map(|path| {
        let mut parts = path.rsplit('/');
        let last = parts.next()?;
        let is_word = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_lowercase());
        id_in(last).or_else(|| id_in(parts.next().filter(|_| is_word)?))
    })
}

fn id_in(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let is_hex = |text: &&str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let last = |text: &'_ str, count: usize| text.len().checked_sub(count);
    if let Some(id) = last(part, 64).and_then(|start| part.get(start..)).filter(is_hex) {
        return Some(id);
    }
    let (task, number) = part.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let start = last(task, 32).filter(|_| is_number)?;
    task.get(start..).filter(is_hex).and_then(|_| part.get(start..))
}

/// By id: the files are called POD_NAMESPACE_CONTAINER-ID.log.
fn pods(folder: &Path) -> HashMap<String, Container> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_LOGS);
    let pod = |name: &str| {
        let (rest, id) = name.strip_suffix(".log")?.rsplit_once('-')?;
        let mut parts = rest.splitn(3, '_').map(str::to_owned);
        let (pod, namespace, name) = (parts.next(), parts.next(), parts.next());
        Some((id.to_owned(), Container { id: id.to_owned(), name: Some(name?), pod, namespace }))
    };
    files.filter_map(|file| pod(file.file_name().to_str()?)).collect()
}

/// A pod's container, its pod and that one's namespace, as containerd, CRI-O and nerdctl write them down.
const ANNOTATIONS: [[&str; 3]; 3] = [
    [
        "io.kubernetes.cri.container-name",
        "io.kubernetes.cri.sandbox-name",
        "io.kubernetes.cri.sandbox-namespace",
    ],
    ["io.kubernetes.container.name", "io.kubernetes.pod.name", "io.kubernetes.pod.namespace"],
    ["nerdctl/name", "", ""],
];

/// More than a container's own configuration ever has.
const MOST_CONFIG: u64 = 4 << 20;

/// What a folder of running containers has about one: in ID, in NAMESPACE/ID, or in ID/userdata.
fn bundle(folder: &Path, id: &str) -> Option<Container> {
    let namespaces =
        fs::read_dir(folder).ok()?.flatten().take(MOST_NAMESPACES).map(|entry| entry.path());
    let places = namespaces.map(|namespace| namespace.join(id));
    let own = [folder.join(id), folder.join(id).join("userdata")];
    own.into_iter().chain(places).find_map(|place| {
        let file = fs::File::open(place.join("config.json")).ok()?;
        let mut text = String::new();
        file.take(MOST_CONFIG).read_to_string(&mut text).ok()?;
        let config: serde_json::Value = serde_json::from_str(&text).ok()?;
        let annotation =
            |name: &str| Some(config.get("annotations")?.get(name)?.as_str()?.to_owned());
        let [name, pod, namespace] =
            ANNOTATIONS.iter().find(|names| annotation(names[0]).is_some())?.map(annotation);
        Some(Container { id: id.to_owned(), name, pod, namespace })
    })
}

/// An engine that hangs does not even accept: connecting would wait for ever, so a thread waits in our place.
fn ask_in_time(socket: &Path, question: &str) -> Result<Answer, http::Error> {
    let (sender, receiver) = mpsc::channel();
    let (socket, question) = (socket.to_owned(), question.to_owned());
    // The receiver may have stopped waiting.
    thread::Builder::new().spawn(move || drop(sender.send(ask(&socket, &question))))?;
    receiver.recv_timeout(LIMITS.time).map_err(|_| http::Error::TooLate(LIMITS.time))?
}

fn ask(socket: &Path, question: &str) -> Result<Answer, http::Error> {
    let stream = UnixStream::connect(socket)?;
    Connection::new(stream).ask(&Request::get(question, "localhost"), &LIMITS)
}

/// The version of the first engine that answers: `(20, 10)`.
pub fn engine_version(sockets: &[PathBuf]) -> Option<(u32, u32)> {
    let answers = sockets.iter().filter(|socket| socket.exists());
    answers.into_iter().find_map(|socket| version_in(&ask_in_time(socket, "/version").ok()?.body))
}

fn version_in(body: &[u8]) -> Option<(u32, u32)> {
    let version: serde_json::Value = serde_json::from_slice(body).ok()?;
    let mut numbers = version.get("Version")?.as_str()?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The name in an answer; an engine that does not know the container answers without one.
fn name_in(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let name = value.get("Name")?.as_str()?.trim_start_matches('/');
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn ids_stand_at_the_end() {
        for path in [
            "/docker/ID",
            "/system.slice/docker-ID.scope",
            "/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-ID.scope",
            "/kubepods/burstable/pod1-2/crio-ID.scope/container",
            "/machine.slice/libpod-ID.scope/container",
        ] {
            let cgroup = format!("12:cpu,cpuacct:/\n0::{}\n", path.replace("ID", ID));
            assert_eq!(container_id(&cgroup), Some(ID), "{path}");
        }
        let fargate = format!("9:cpu:/ecs/task/{}-123\n", &ID[..32]);
        assert_eq!(container_id(&fargate), Some(&*format!("{}-123", &ID[..32])));
        for path in [
            "/",
            "/user.slice/user-0.slice",
            "/docker/ID/Ein/Dorf",
            "/漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢-1",
            "",
        ] {
            assert_eq!(container_id(&format!("0::{}", path.replace("ID", ID))), None, "{path}");
        }
    }

    #[test]
    fn engines_and_logs_know_names() {
        let folder = PathBuf::from(format!("/tmp/nodescope-containers-{}", std::process::id()));
        fs::create_dir_all(folder.join("logs")).unwrap();
        let in_pod = ID.replace('0', "f");
        fs::write(folder.join(format!("logs/web-7d9-x_shop_app-{in_pod}.log")), "").unwrap();
        let (path, silent) = (folder.join("docker.sock"), folder.join("a-silent.sock"));
        let listener = UnixListener::bind(&path).unwrap();
        let _silent = UnixListener::bind(&silent).unwrap();
        let engine = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let count = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n{\"Name\":\"/web-3\"}").unwrap();
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        let mut containers = Containers::new(&[silent, path], &folder.join("logs"), &[]);
        let started = Instant::now();
        let cgroup = format!("0::/docker/{ID}");
        for _ in 0..2 {
            assert_eq!(containers.find(&cgroup).unwrap().name.as_deref(), Some("web-3"));
        }
        assert!(started.elapsed() < Duration::from_secs(60));
        assert_eq!(containers.sockets.len(), 1, "a silent engine is asked once");
        let pod = containers.find(&format!("0::/kubepods/{in_pod}")).unwrap();
        assert_eq!(
            (pod.pod.as_deref(), pod.namespace.as_deref()),
            (Some("web-7d9-x"), Some("shop"))
        );
        assert!(
            engine.join().unwrap().starts_with(&format!("GET /containers/{ID}/json HTTP/1.1\r\n"))
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn engines_report_their_version() {
        let folder = PathBuf::from(format!("/tmp/nodescope-engine-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("docker.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let engine = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let count = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1c\r\n{\"Version\":\"20.10.24+dfsg1\"}\r\n0\r\n\r\n").unwrap();
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        assert_eq!(engine_version(&[folder.join("missing.sock"), path]), Some((20, 10)));
        assert!(engine.join().unwrap().starts_with("GET /version HTTP/1.1\r\n"));
        for answer in ["", "{}", "{\"Version\":\"x.y\"}", "{\"Version\":7}"] {
            assert_eq!(version_in(answer.as_bytes()), None, "{answer}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn runtimes_keep_what_they_run() {
        let folder = std::env::temp_dir().join(format!("nodescope-bundles-{}", std::process::id()));
        let (containerd, crio) = (folder.join("task"), folder.join("overlay-containers"));
        let ids = ["a", "b", "c", "d"].map(|letter| letter.repeat(64));
        let keep = |place: PathBuf, config: &str| {
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("config.json"), config).unwrap();
        };
        let kubernetes = r#"{"ociVersion":"1.0.2","annotations":{"io.kubernetes.cri.container-name":"app",
            "io.kubernetes.cri.sandbox-name":"web-7d9-x","io.kubernetes.cri.sandbox-namespace":"shop"}}"#;
        keep(containerd.join("k8s.io").join(&ids[0]), kubernetes);
        let openshift = r#"{"annotations":{"io.kubernetes.container.name":"api","io.kubernetes.pod.name":"api-0",
            "io.kubernetes.pod.namespace":"prod"}}"#;
        keep(crio.join(&ids[1]).join("userdata"), openshift);
        keep(
            containerd.join("default").join(&ids[2]),
            r#"{"annotations":{"nerdctl/name":"web-3"}}"#,
        );
        keep(containerd.join("moby").join(&ids[3]), "no json");
        let mut containers = Containers::new(&[], &folder.join("logs"), &[containerd, crio]);
        let mut names = |id: &String| {
            let found = containers.find(&format!("0::/kubepods/{id}")).unwrap();
            [found.name, found.pod, found.namespace].map(Option::unwrap_or_default)
        };
        assert_eq!(names(&ids[0]), ["app", "web-7d9-x", "shop"]);
        assert_eq!(names(&ids[1]), ["api", "api-0", "prod"]);
        assert_eq!(names(&ids[2]), ["web-3", "", ""]);
        assert_eq!(names(&ids[3]), ["", "", ""]);
        fs::remove_dir_all(&folder).unwrap();
    }
}

//! The demo on Linux: our service, under our load, recorded as `nodescope record` would.

use std::path::Path;
use std::time::Duration;

use capture::{Options, Sampler, Scope};

use super::load::Load;
use super::service::Service;
use super::{Outcome, print_next};
use crate::advice::Subject;
use crate::cli;
use crate::export::Form;
use crate::failure::{Failure, warn};
use crate::{advice, export, record};

/// Code is compiled and the pace has settled when the recording begins.
const WARM_UP: Duration = Duration::from_millis(1500);

/// Records the service, unless this machine does not permit it.
pub(super) fn run(arguments: &cli::Demo, form: Form, out: &Path) -> Result<Outcome, Failure> {
    let options = Options {
        frequency: arguments.frequency.base(),
        fast_frequency: None,
        on_exec: false,
        children: false,
        events: Vec::new(),
        stack_bytes: 0,
    };
    if let Err(error) = Sampler::attach(Scope::Processes(&[std::process::id()]), &options) {
        let subject = Subject {
            name: "even your own processes",
            again: "demo".to_owned(),
            is_anothers: false,
        };
        return Ok(Outcome::NotHere(advice::explain(&error, &subject)));
    }
    let mut service = match Service::start() {
        Ok(service) => service,
        Err(failure) => return Ok(Outcome::NotHere(failure)),
    };
    let (port, pid) = (service.ready.port, service.ready.pid);
    warn(&format!(
        "demo: a small web shop on Node {}, under a load of nodescope's own",
        service.ready.node
    ));
    let pause = arguments.pause_ms.map(Duration::from_millis);
    let _load =
        Load::start(port, pid, pause).map_err(|error| Failure::failed(error.to_string()))?;
    std::thread::sleep(WARM_UP);
    if let Some(failure) = service.failure() {
        return Ok(Outcome::NotHere(failure));
    }
    let is_file = out != Path::new("-");
    let request = cli::Record {
        processes: cli::Processes { pid: vec![pid], ..cli::Processes::default() },
        system: false,
        no_heap: false,
        duration: Some(arguments.duration.clone()),
        frequency: arguments.frequency,
        maps: cli::SourceMaps { no_source_maps: false },
        own: cli::OwnPackages::default(),
        // The service is ours, and its folder is gone when the recording is read.
        texts: cli::SourceTexts { with_source: is_file && export::is_whole(form) },
        event: Vec::new(),
        way: cli::WayIn { via: cli::Via::Perf, ..cli::WayIn::default() },
        output: Some(out.to_owned()),
        to: None,
        overwrite: true,
        quiet: false,
        open: super::wants_page(arguments, out),
        command: Vec::new(),
    };
    record::run_and_print(&request, print_next)?;
    Ok(Outcome::Recorded)
}

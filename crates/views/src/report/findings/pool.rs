//! Thread pools, in words.

use crate::pool::{PoolUse, PoolWork};

use super::Context;

/// From this part of what waits on, it is named as the one that waits.
const MOSTLY: f64 = 0.5;
/// A pool of whose threads a smaller part was busy did nothing worth reporting.
const IDLE: f64 = 0.01;

impl Context<'_> {
    /// `The thread pool (4 threads) was full 83 % of the time; on average 12 requests waited, mostly lookups of names
    /// (getaddrinfo).`
    pub(super) fn pool(&self, pool: &PoolUse) -> Vec<String> {
        let several = self.findings.pools.len() > 1;
        let pid = self.profile.process(pool.process).pid.filter(|_| several);
        let whose = pid.map(|pid| format!(" of pid {pid}")).unwrap_or_default();
        let mostly = pool.work.first().filter(|(_, queued)| *queued >= pool.queued * MOSTLY);
        let what = mostly.map(|(work, _)| format!(", mostly {}", words(*work)));
        let waited = match pool.queued.round() {
            1.0 => "1 request".to_owned(),
            queued => format!("{queued:.0} requests"),
        };
        let text = format!(
            "The thread pool{whose} ({} threads) was full {:.0} % of the time; on average {waited} waited{}.",
            pool.threads,
            pool.full * 100.0,
            what.unwrap_or_default()
        );
        vec![text, advice(mostly.map(|(work, _)| *work), pool.threads)]
    }
}

/// `Thread pool idle.`, where nothing waited; none where no pool is known.
pub(super) fn closing(context: &Context<'_>) -> Option<String> {
    let pools = &context.findings.pools;
    let part = |pool: &PoolUse| pool.busy / f64::from(pool.threads.max(1));
    let busiest = pools.iter().max_by(|a, b| part(a).total_cmp(&part(b)))?;
    Some(match part(busiest) {
        part if part < IDLE => "Thread pool idle.".to_owned(),
        _ => format!("Thread pool: {:.1} of {} threads busy.", busiest.busy, busiest.threads),
    })
}

fn words(work: PoolWork) -> &'static str {
    match work {
        PoolWork::Fs => "file system calls",
        PoolWork::Dns => "lookups of names (getaddrinfo)",
        PoolWork::Crypto => "crypto",
        PoolWork::Zlib => "zlib",
        PoolWork::Addon => "work of native addons",
        PoolWork::Other => "other work",
    }
}

fn advice(mostly: Option<PoolWork>, threads: u32) -> String {
    match mostly {
        Some(PoolWork::Dns) => format!(
            "Lookups may use {} of the threads. Keep their results, reuse connections, or use dns.resolve, which needs no thread; else raise UV_THREADPOOL_SIZE.",
            threads.div_ceil(2)
        ),
        Some(PoolWork::Crypto | PoolWork::Zlib | PoolWork::Addon) => {
            "This is work for CPUs: raise UV_THREADPOOL_SIZE if some are free, or do less of it."
                .to_owned()
        }
        _ => "Raise UV_THREADPOOL_SIZE, or ask for less at a time.".to_owned(),
    }
}

//! A thread pool in which requests wait for a thread.

use super::{Facts, Finding, Found};
use crate::pool::PoolUse;

/// A pool that was full for less of the time: most requests find a free thread, as they do in short bursts.
const FULL: f64 = 0.2;
/// And on average fewer requests waited than that.
const QUEUED: f64 = 1.0;
/// Looks come ten times a second: fewer show little.
const FEW_LOOKS: u64 = 10;

/// The pools that were full.
pub(super) fn find(facts: &Facts<'_>, _: &[Found]) -> Vec<Found> {
    let is_full =
        |pool: &&PoolUse| pool.looks >= FEW_LOOKS && pool.full >= FULL && pool.queued >= QUEUED;
    let found = |pool: &PoolUse| {
        let lost_ns = (pool.full * facts.duration_ns as f64) as u64;
        super::found(lost_ns, Finding::Pool(pool.clone()))
    };
    facts.pools.iter().filter(is_full).map(found).collect()
}

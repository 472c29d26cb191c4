//! Systems where users have no numbers.

/// The user that this program acts as: it has no number here.
pub fn effective() -> Option<u32> {
    None
}

//! How often to sample, as people type it.

use std::str::FromStr;

use live::{BASE_RATE, FAST_RATE};

/// No kernel takes more by default, and each costs the target 20 µs.
const MOST: u32 = 10_000;

/// `-F 99` or `-F auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rate {
    /// By what the target uses.
    #[default]
    Auto,
    /// So many samples a second.
    Fixed(u32),
}

impl Rate {
    /// Samples a second of a thread in a busy target. The inspector has no other rate.
    pub(crate) fn base(self) -> u32 {
        match self {
            Self::Auto => BASE_RATE,
            Self::Fixed(rate) => rate,
        }
    }

    /// The same in a target that is mostly idle, where that is another one.
    #[cfg(target_os = "linux")]
    pub(crate) fn fast(self) -> Option<u32> {
        (self == Self::Auto).then_some(FAST_RATE)
    }

    /// `99 times a second, 999 while it is mostly idle`
    pub(crate) fn words(self, has_fast: bool) -> String {
        let fast =
            if has_fast { format!(", {FAST_RATE} while it is mostly idle") } else { String::new() };
        format!("{} times a second{fast}", self.base())
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(rate) if (1..=MOST).contains(&rate) => Ok(Self::Fixed(rate)),
            _ if text == "auto" => Ok(Self::Auto),
            _ => Err(format!("it is a number from 1 to {MOST}, or auto")),
        }
    }
}

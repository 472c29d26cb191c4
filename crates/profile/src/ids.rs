//! Row numbers of the tables, one type each, so that a stack can never be looked up as a frame.
//! `NONE` stands for "no row": columns stay plain u32 in memory, in the file and in the page.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// No row.
            pub const NONE: Self = Self(u32::MAX);

            /// The row as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of row `index`. Tables never reach `u32::MAX` rows: the builder refuses that.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// `None` instead of `NONE`.
            pub fn some(self) -> Option<Self> {
                (self != Self::NONE).then_some(self)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::NONE
            }
        }
    )*};
}

ids! {
    /// A row of the strings.
    StringId;
    /// A row of the sources.
    SourceId;
    /// A row of the modules.
    ModuleId;
    /// A row of the functions.
    FunctionId;
    /// A row of the frames.
    FrameId;
    /// A row of the stacks.
    StackId;
    /// A row of the packages.
    PackageId;
    /// A row of the processes.
    ProcessId;
    /// A row of the threads.
    ThreadId;
    /// A row of the lanes.
    LaneId;
    /// A row of a lane's samples, of the markers or of the line ticks.
    RowId;
}

//! The field numbers of profile.proto, as far as we read or write them.

pub(super) mod profile {
    pub(crate) const SAMPLE_TYPE: u32 = 1;
    pub(crate) const SAMPLE: u32 = 2;
    pub(crate) const MAPPING: u32 = 3;
    pub(crate) const LOCATION: u32 = 4;
    pub(crate) const FUNCTION: u32 = 5;
    pub(crate) const STRING: u32 = 6;
    pub(crate) const TIME_NANOS: u32 = 9;
    pub(crate) const DURATION_NANOS: u32 = 10;
    pub(crate) const PERIOD_TYPE: u32 = 11;
    pub(crate) const PERIOD: u32 = 12;
    pub(crate) const COMMENT: u32 = 13;
    pub(crate) const DEFAULT_SAMPLE_TYPE: u32 = 14;
    /// The highest number that there is today: the address of a document.
    pub(crate) const LAST: u32 = 15;
}

pub(super) mod value_type {
    pub(crate) const TYPE: u32 = 1;
    pub(crate) const UNIT: u32 = 2;
}

pub(super) mod sample {
    pub(crate) const LOCATION_ID: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
    pub(crate) const LABEL: u32 = 3;
}

pub(super) mod label {
    pub(crate) const KEY: u32 = 1;
    pub(crate) const STRING: u32 = 2;
    pub(crate) const NUMBER: u32 = 3;
}

pub(super) mod mapping {
    pub(crate) const ID: u32 = 1;
    pub(crate) const FILENAME: u32 = 5;
    pub(crate) const BUILD_ID: u32 = 6;
    pub(crate) const HAS_FUNCTIONS: u32 = 7;
    pub(crate) const HAS_FILENAMES: u32 = 8;
    pub(crate) const HAS_LINE_NUMBERS: u32 = 9;
    pub(crate) const HAS_INLINE_FRAMES: u32 = 10;
}

pub(super) mod location {
    pub(crate) const ID: u32 = 1;
    pub(crate) const MAPPING_ID: u32 = 2;
    pub(crate) const ADDRESS: u32 = 3;
    pub(crate) const LINE: u32 = 4;
}

pub(super) mod line {
    pub(crate) const FUNCTION_ID: u32 = 1;
    pub(crate) const LINE: u32 = 2;
    pub(crate) const COLUMN: u32 = 3;
}

pub(super) mod function {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const SYSTEM_NAME: u32 = 3;
    pub(crate) const FILENAME: u32 = 4;
    pub(crate) const START_LINE: u32 = 5;
}

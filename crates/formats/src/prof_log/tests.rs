//! A row for each tag of a log.

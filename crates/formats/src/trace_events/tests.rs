//! Traces of several threads, bare lists and broken chunks.

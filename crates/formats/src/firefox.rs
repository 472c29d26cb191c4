//! The processed profile of the Firefox Profiler (profiler.firefox.com), behind gzip.

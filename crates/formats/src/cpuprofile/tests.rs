//! Every form of a .cpuprofile, and every way in which one can be wrong.

//! How the allocator gets its memory from the kernel.

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub use elsewhere::expect_large_input;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use glibc::expect_large_input;

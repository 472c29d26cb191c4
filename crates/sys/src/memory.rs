//! How the allocator gets its memory from the kernel.

#[cfg(not(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"))))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc;
#[cfg(all(target_os = "linux", target_env = "musl"))]
mod musl;

#[cfg(not(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"))))]
pub use elsewhere::expect_large_input;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use glibc::expect_large_input;
#[cfg(all(target_os = "linux", target_env = "musl"))]
pub use musl::{Heap, expect_large_input};

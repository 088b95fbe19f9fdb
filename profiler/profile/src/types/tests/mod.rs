//! Types from stacks, held against programs that know what they allocate: bytes by type, load by
//! load, to the byte; and stacks written by hand.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod programs;
mod stacks;

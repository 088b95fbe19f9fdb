//! The location of a recording: full disks, limits, taken paths, other processes.

mod disks;
mod folders;
mod images;
mod paths;

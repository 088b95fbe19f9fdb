//! Where a recording lies: full disks, limits, taken paths, other processes.

mod disks;
mod folders;
mod images;
mod paths;

//! The `heapglass` command, built next to the programs that its tests record.

fn main() -> std::process::ExitCode {
    heapglass_cli::heapglass()
}

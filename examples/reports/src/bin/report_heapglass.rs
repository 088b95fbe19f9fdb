//! The `heapglass` command, built beside the programs that its tests record.

fn main() -> std::process::ExitCode {
    heapglass_cli::heapglass()
}

//! The code of the guide (docs/src/wasm.md), which a test holds equal to this. `run` builds it.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

/// Decodes `json`, and returns the recording: the host writes these bytes to my-module.hg.
pub fn recorded(json: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    tracking_alloc::wasm::start("my-module")?;
    let names = serde_json::from_slice::<tracking_alloc::Profiled<Vec<String>>>(json)?.0;
    let recording = tracking_alloc::wasm::recording()?;
    drop(names);
    Ok(recording)
}

//! try
#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
fn main() {
    let mut all = Vec::new();
    for i in 0..1000 { let mut v = Vec::new(); for j in 0..i { v.push(j); } all.push(v); }
    let s: usize = all.iter().map(|v| v.len()).sum();
    println!("{s}");
    for k in 0..4 { std::thread::spawn(move || { let v: Vec<String> = (0..1000).map(|x| format!("{x}-{k}")).collect(); v.len() }).join().unwrap(); }
    eprintln!("{:?}", tracking_alloc::stats());
}

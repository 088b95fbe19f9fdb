//! try
fn main() {
    let r = tracking_alloc_recording::Recording::open(std::path::Path::new(&std::env::args().nth(1).unwrap())).unwrap();
    println!("{:#?}", r.header);
    for l in &r.lanes { println!("{:?}\n all {:?}\n", l.lane, l.all); let mut t=(0,0,0,0); for x in &l.rows { t.0+=x.total_bytes; t.1+=x.total_blocks; t.2+=x.freed_bytes; t.3+=x.freed_blocks; } println!("rows {} {t:?} sizes {} snaps {}", l.rows.len(), l.sizes.len(), l.snaps.len()); }
    println!("modules {:?}", r.modules.iter().map(|m| r.string(m.path)).collect::<Vec<_>>());
    println!("sites {} stacks {} frames {} threads {:?} timeline {}", r.sites.len(), r.stacks.len(), r.frames.len(), r.threads, r.timeline.len());
}

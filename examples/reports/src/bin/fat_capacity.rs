//! A script type reserves room for the largest program it could ever hold, and is stored for every
//! output.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

struct Op {
    code: u8,
    arg: [u8; 39],
}
struct Script {
    ops: Vec<Op>,
}
struct Output {
    value: u64,
    script: Script,
    covenant: Script,
}
impl Script {
    fn new() -> Script {
        Script {
            ops: Vec::with_capacity(128),
        }
    }
    fn push(&mut self, code: u8) -> &mut Script {
        self.ops.push(Op {
            code,
            arg: [code; 39],
        });
        self
    }
}
fn output(n: u64) -> Output {
    let mut o = Output {
        value: n,
        script: Script::new(),
        covenant: Script::new(),
    };
    o.script.push(1).push(2);
    o.covenant.push(3);
    o
}
fn scan(n: u64) -> Vec<Output> {
    (0..n).map(output).collect()
}
fn main() {
    let v = scan(12_000);
    println!(
        "{} {}",
        v.iter().map(|o| o.value).sum::<u64>(),
        v.iter()
            .map(|o| o.script.ops.len()
                + o.covenant.ops.len()
                + o.script.ops[0].code as usize
                + o.script.ops[0].arg[3] as usize)
            .sum::<usize>()
    );
}

//! Futures that hold a large local across an await. With `--cfg remedy`, they do not. Writes its
//! memory to a file. Arguments: the file, the number of tasks of each kind.

mod watch;

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

#[global_allocator]
static WATCH: watch::Watch = watch::Watch;

type Task = Pin<Box<dyn Future<Output = usize> + Send>>;

static TASKS: Mutex<Vec<Task>> = Mutex::new(Vec::new());

/// Pending once.
struct Later(bool);
impl Future for Later {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn sum(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| usize::from(*byte)).sum()
}

// One branch of a task holds it.
async fn upload(at: usize) -> usize {
    #[cfg(remedy)]
    let sum = sum(&std::hint::black_box([at as u8; 5000]));
    #[cfg(not(remedy))]
    let scratch = std::hint::black_box([at as u8; 5000]);
    Later(false).await; // upload
    #[cfg(not(remedy))]
    let sum = sum(&scratch);
    sum
}
async fn ping(at: usize) -> usize {
    Later(false).await;
    at
}
async fn handle(at: usize, name: String) -> usize {
    let first = if at % 10 == 0 { upload(at).await } else { ping(at).await };
    Later(false).await;
    first + name.len()
}

// Held across two awaits, beside a smaller local that is there in one state only.
async fn twice(at: usize) -> usize {
    #[cfg(remedy)]
    let sum_of_all = sum(&std::hint::black_box([at as u8; 3000]));
    #[cfg(not(remedy))]
    let all = std::hint::black_box([at as u8; 3000]);
    Later(false).await; // twice
    let small = std::hint::black_box([at as u8; 400]);
    Later(false).await;
    #[cfg(not(remedy))]
    let sum_of_all = sum(&all);
    sum_of_all + sum(&small)
}

// Never the largest state.
async fn hidden(at: usize) -> usize {
    let mut all = 0;
    {
        let less = std::hint::black_box([at as u8; 1000]);
        Later(false).await;
        all += sum(&less);
    }
    {
        let least = std::hint::black_box([at as u8; 900]);
        Later(false).await;
        all += sum(&least);
    }
    all
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let size: usize = arguments[2].parse().unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let mut tasks: Vec<Task> = Vec::new();
    for at in 0..size {
        tasks.push(Box::pin(handle(at, format!("task {at}"))));
        tasks.push(Box::pin(twice(at)));
        tasks.push(Box::pin(hidden(at)));
    }
    for task in &mut tasks {
        assert!(task.as_mut().poll(&mut context).is_pending());
    }
    *TASKS.lock().unwrap() = tasks;
    println!("tasks {}", 3 * size);
    watch::dump(&arguments[1]);
    for task in &mut *TASKS.lock().unwrap() {
        let _ = task.as_mut().poll(&mut context);
    }
}

//! Many tasks on few threads. Each reads data in a phase of its own. They are polled in turn.

use heapglass_examples::tasks::{Job, ROUNDS};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tracking_alloc::{Profiled, phase_async};

/// A future that is pending once. Unlike the runtime's own, it requests the next poll at once,
/// which allocates nothing. So a task's phase counts only the allocations of the task.
#[derive(Default)]
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

async fn read(number: usize, input: Vec<u8>) -> [Option<Job>; ROUNDS] {
    let mut jobs = [const { None }; ROUNDS];
    for job in &mut jobs {
        Later::default().await;
        let read = serde_json::from_slice::<Profiled<Job>>(&input);
        *job = Some(read.expect("JSON of a job").0);
        Later::default().await;
    }
    let expected = Job::of(number);
    assert!(jobs.iter().all(|job| job.as_ref() == Some(&expected)));
    // The blocks are freed in another phase than the one in which they were allocated.
    Later::default().await;
    std::mem::forget(input);
    jobs
}

/// Runs `tasks` tasks in the phases `task-0`, `task-1`, ... on four threads. Their data stays to
/// the end.
pub(super) fn run(tasks: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let spawned: Vec<_> = (0..tasks)
            .map(|number| {
                let input = serde_json::to_vec(&Job::of(number)).expect("a job is JSON");
                let phase = format!("task-{number}");
                tokio::spawn(phase_async(&phase, read(number, input)))
            })
            .collect();
        for task in spawned {
            std::mem::forget(task.await.expect("a task that ends"));
        }
    });
}

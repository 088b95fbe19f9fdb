//! 3.13: the data of futures that run concurrently: a clone each, a shared value, a borrow, or only
//! messages to an actor that owns the data.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.13",
    system: "async: a clone for each future, Arc, a borrow, an actor that owns the data: 100 tasks, 1,000 names",
    headline: "no figures: Arc instead of clones, above all of large lists; or actors, which pass small messages",
    variants: &[
        Variant::new("clone", |window| {
            let (names, tasks, sum) = input(window);
            window.work(|| {
                let task = |at: usize| {
                    let names = names.clone();
                    boxed(async move { ask(&names, at).await })
                };
                assert_eq!(all(tasks, task, |_| ()), sum);
            });
        }),
        Variant::new("Arc", |window| {
            let (names, tasks, sum) = input(window);
            let names: Arc<[String]> = names.into();
            window.work(|| {
                let task = |at: usize| {
                    let names = Arc::clone(&names);
                    boxed(async move { ask(&names, at).await })
                };
                assert_eq!(all(tasks, task, |_| ()), sum);
            });
        }),
        Variant::new("borrow", |window| {
            let (names, tasks, sum) = input(window);
            let names = names.as_slice();
            window.work(|| assert_eq!(all(tasks, |at| boxed(ask(names, at)), |_| ()), sum));
        }),
        Variant::new("actor", |window| {
            let (mut names, tasks, sum) = input(window);
            window.work(|| {
                let (answers, owned) = actor(std::mem::take(&mut names), tasks);
                assert_eq!(answers, sum);
                // The actor returns the data for the next run.
                names = owned;
            });
        }),
    ],
    judge: |found| {
        let (tasks, names) = (found.of("clone", "records"), found.of("clone", "names"));
        let blocks = |variant: &str| found.of(variant, "total_blocks");
        let bytes = |variant: &str| found.of(variant, "total_bytes");
        // A box for each future, and the list of them; a clone is a list and each of its names. The
        // actor's mailbox is shared, and has room for all questions and answers.
        let holds = blocks("clone") == 1.0 + tasks * (2.0 + names)
            && blocks("Arc") == 1.0 + tasks
            && blocks("borrow") == 1.0 + tasks
            && blocks("actor") == tasks + 4.0;
        let why = format!(
            "for {tasks} tasks that each look at a list of {names} names: {} blocks and {} B with a clone each, {} and {} B \
             with an Arc, {} and {} B with a borrow, {} and {} B with an actor that owns the list and gets numbers; clones take {} as long as Arcs, the actor {}",
            blocks("clone"),
            bytes("clone"),
            blocks("Arc"),
            bytes("Arc"),
            blocks("borrow"),
            bytes("borrow"),
            blocks("actor"),
            bytes("actor"),
            times(found.times("clone", "Arc")),
            times(found.times("actor", "Arc")),
        );
        Judged::facts(holds, why)
    },
};

const TASKS: usize = 100;
const NAMES: usize = 1_000;

/// Returns the list, the number of tasks and the sum of their answers. The number of tasks is
/// scaled with the work.
fn input(window: &mut Window) -> (Vec<String>, usize, usize) {
    let names: Vec<String> = (0..NAMES).map(|at| format!("name {at}")).collect();
    let tasks = window.scaled(TASKS);
    window.input(names.iter().map(String::len).sum(), tasks);
    window.note("names", NAMES as f64);
    let sum = (0..tasks).map(|at| answer(&names, at)).sum();
    (names, tasks, sum)
}

/// Returns a task's answer from the list.
fn answer(names: &[String], at: usize) -> usize {
    names.get(at * 7 % NAMES).map_or(0, String::len)
}

/// Lets the other tasks run first, then asks.
async fn ask(names: &[String], at: usize) -> usize {
    yield_once().await;
    answer(black_box(names), at)
}

async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

type Task<'a> = Pin<Box<dyn Future<Output = usize> + 'a>>;

fn boxed<'a>(future: impl Future<Output = usize> + 'a) -> Task<'a> {
    Box::pin(future)
}

/// Runs this many tasks concurrently, together with `beside`, and adds up their answers.
fn all<'a>(
    tasks: usize,
    task: impl Fn(usize) -> Task<'a>,
    mut beside: impl FnMut(&mut Context<'_>),
) -> usize {
    let mut tasks: Vec<Option<Task<'a>>> = (0..tasks).map(|at| Some(task(at))).collect();
    let context = &mut Context::from_waker(Waker::noop());
    let mut sum = 0;
    while tasks.iter().any(Option::is_some) {
        for slot in &mut tasks {
            if let Some(task) = slot
                && let Poll::Ready(answer) = task.as_mut().poll(context)
            {
                sum += answer;
                *slot = None;
            }
        }
        beside(context);
    }
    sum
}

/// The data that tasks and the actor share.
struct Mailbox {
    /// The task that asks, and its question.
    questions: RefCell<Vec<(usize, usize)>>,
    answers: Vec<Cell<Option<usize>>>,
}

/// Runs tasks that send their questions to the only task that has the list.
fn actor(names: Vec<String>, tasks: usize) -> (usize, Vec<String>) {
    let mailbox = Rc::new(Mailbox {
        questions: RefCell::new(Vec::with_capacity(tasks)),
        answers: vec![Cell::new(None); tasks],
    });
    let own = Rc::clone(&mailbox);
    let mut owner = pin!(async move {
        let mut answered = 0;
        while answered < tasks {
            for (who, what) in own.questions.borrow_mut().drain(..) {
                if let Some(reply) = own.answers.get(who) {
                    reply.set(Some(answer(black_box(&names), what)));
                }
                answered += 1;
            }
            yield_once().await;
        }
        names
    });
    let task = |at: usize| {
        let mailbox = Rc::clone(&mailbox);
        boxed(async move {
            mailbox.questions.borrow_mut().push((at, at));
            loop {
                yield_once().await;
                if let Some(answer) = mailbox.answers.get(at).and_then(Cell::get) {
                    break answer;
                }
            }
        })
    };
    let mut back = None;
    let sum = all(tasks, task, |context| {
        if back.is_none()
            && let Poll::Ready(names) = owner.as_mut().poll(context)
        {
            back = Some(names);
        }
    });
    (sum, back.expect("all have been answered"))
}

//! The thread that loads the profile: at the start, on demand, and repeatedly while the program
//! runs. It also builds the call tree, so that the thread that reads keys never waits. Never
//! touches the terminal.

use heapglass_profiler::calltree::CallTreeOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use heapglass_profiler::Early;
use heapglass_profiler::profile::{Frames, Profile, State};
use heapglass_profiler::table::By;
use heapglass_profiler::units::Nanos;

use crate::model::{Data, Message, Order, panic_text};
use crate::{Base, Options, Source};

/// The main loop's handle of the loader. Dropping it ends the thread after the current load.
#[derive(Debug)]
pub(super) struct Loader {
    inbox: Receiver<Message>,
    orders: Sender<Order>,
}

impl Loader {
    pub(super) fn start(source: impl Source, options: &Options, tree: CallTreeOptions) -> Loader {
        let (outbox, inbox) = channel();
        let (orders, ordered) = channel();
        let mut worker = Worker {
            source,
            refresh: options.refresh,
            base: options.base.clone(),
            tree,
            outbox: outbox.clone(),
            ordered,
            last: None,
        };
        let work = move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| worker.work())) {
                let text = panic_text(&*panic);
                // Sending fails only if the UI has already ended.
                let _ = worker.outbox.send(Message::LoaderPanicked(text));
            }
        };
        let thread = std::thread::Builder::new().name("heapglass-load".into());
        if let Err(error) = thread.spawn(work) {
            let text = format!("cannot start the thread that loads: {error}");
            let _ = outbox.send(Message::LoadFailed(text));
        }
        Loader { inbox, orders }
    }

    /// Returns the next message of the loader without waiting.
    pub(super) fn next(&self) -> Option<Message> {
        self.inbox.try_recv().ok()
    }

    pub(super) fn order(&self, order: Order) {
        // A loader that ended has already sent its reason.
        let _ = self.orders.send(order);
    }
}

struct Worker<S> {
    source: S,
    refresh: Duration,
    base: Option<Arc<Base>>,
    tree: CallTreeOptions,
    outbox: Sender<Message>,
    ordered: Receiver<Order>,
    /// The last profile with names.
    last: Option<Arc<Data>>,
}

impl<S: Source> Worker<S> {
    fn work(&mut self) {
        let mut live = false;
        let mut paused = false;
        // Only before the first profile with names. Later, the previous profile stays visible.
        let mut is_first = true;
        loop {
            let progress = |text: &str| {
                let _ = self.outbox.send(Message::Progress(text.to_owned()));
            };
            let mut ended_meanwhile = false;
            let mut reload = false;
            let mut takes_snapshot = false;
            let early = |profile: Profile| {
                let mut data = Data::with_tree(profile, self.base.clone(), self.tree);
                data.is_early = true;
                let _ = self.outbox.send(Message::Early(Arc::new(data)));
            };
            let early = is_first.then_some(&early as Early<'_>);
            let message = match self.source.load(&progress, early) {
                Ok(profile) => {
                    is_first = false;
                    progress("preparing the flamegraph");
                    let was_live = std::mem::replace(&mut live, self.source.is_live());
                    // The program ended between the load and this question, so its last events are
                    // not read yet.
                    ended_meanwhile =
                        !live && profile.process().state == State::Running && was_live;
                    // Handle orders that arrived during the load.
                    while let Ok(order) = self.ordered.try_recv() {
                        match order {
                            Order::Reload => reload = true,
                            Order::Snapshot => takes_snapshot = true,
                            Order::BaseIsNow => {
                                self.set_base();
                                reload = true;
                            }
                            Order::Pause(now) => paused = now,
                            Order::Tree(tree) => self.tree = tree,
                        }
                    }
                    let mut data = Data::with_tree(profile, self.base.clone(), self.tree);
                    data.follow(self.last.as_deref(), self.tree.measure);
                    let data = Arc::new(data);
                    self.last = Some(Arc::clone(&data));
                    // Compute what the first views show. Other views compute their data when they
                    // first become visible.
                    let outbox = self.outbox.clone();
                    data.compute_elsewhere(move |result| {
                        let message = match result {
                            Ok(()) => Message::Computed,
                            Err(text) => Message::ComputingPanicked(text),
                        };
                        // Sending fails only if the UI has ended.
                        let _ = outbox.send(message);
                    });
                    data.site_rows();
                    data.rows((By::Owner, self.tree.measure, Frames::Folded));
                    for by in [By::Owner, By::Site] {
                        data.beside((by, self.tree.measure, Frames::Folded));
                    }
                    Message::Loaded {
                        data,
                        live: live || ended_meanwhile,
                        title: self.source.title(),
                    }
                }
                Err(text) => Message::LoadFailed(text),
            };
            if self.outbox.send(message).is_err() {
                return;
            }
            if takes_snapshot && !self.snapshot() {
                return;
            }
            if ended_meanwhile || reload {
                continue;
            }
            loop {
                let order = if live && !paused {
                    self.ordered.recv_timeout(self.refresh)
                } else {
                    self.ordered.recv().map_err(RecvTimeoutError::from)
                };
                match order {
                    Ok(Order::Reload) | Err(RecvTimeoutError::Timeout) => break,
                    Ok(Order::Snapshot) => {
                        if !self.snapshot() {
                            return;
                        }
                    }
                    Ok(Order::BaseIsNow) => {
                        self.set_base();
                        break;
                    }
                    Ok(Order::Pause(now)) => paused = now,
                    Ok(Order::Tree(tree)) => self.tree = tree,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        }
    }

    /// Makes the last profile the base.
    fn set_base(&mut self) {
        if let Some(last) = &self.last {
            let profile = last.profile.clone();
            let time = Nanos(profile.process().duration_ns);
            let name = format!("this program at {time}");
            self.base = Some(Arc::new(Base {
                name,
                profile,
                is_taken_here: true,
            }));
        }
    }

    /// Takes a snapshot. Returns `false` if the UI has ended.
    fn snapshot(&mut self) -> bool {
        let (Ok(text) | Err(text)) = self.source.snapshot();
        self.outbox.send(Message::Snapshot(text)).is_ok()
    }
}

//! Phases of the spans of `tracing`, as a layer of its subscribers.

use crate::{Phase, phase};
use std::cell::RefCell;
use tracing_core::Subscriber;
use tracing_core::span::Id;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

thread_local! {
    /// The spans that the thread has entered, with their phases.
    static ENTERED: RefCell<Vec<(Id, Phase)>> = const { RefCell::new(Vec::new()) };
}

/// A layer of `tracing` that makes a phase of each span: what is allocated while a span is entered
/// is counted in the phase of its name. Spans inside each other are phases inside each other.
///
/// Each entry of a span costs a look-up under a lock while a program is recorded, so filter what is
/// entered very often (`with_filter`).
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt;
/// use tracing_subscriber::util::SubscriberInitExt;
///
/// tracing_subscriber::registry()
///     .with(tracking_alloc::SpanPhases::default())
///     .init();
/// let users = tracing::info_span!("load users").in_scope(|| vec!["Ada", "Grace"]);
/// # drop(users);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SpanPhases;

impl<S> Layer<S> for SpanPhases
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        // While the thread ends, there is no list.
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            // The list itself is not in the phase.
            entered.reserve(1);
            entered.push((id.clone(), phase(span.name())));
        });
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(at) = entered.iter().rposition(|(of, _)| of == id) {
                entered.remove(at);
            }
        });
    }
}

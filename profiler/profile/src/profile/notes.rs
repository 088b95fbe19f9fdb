//! The sentences that belong next to the figures of a profile.

use super::{Measure, Profile};
use crate::units::{Bytes, capital};

/// Returns the error bound of the peak and every loss, as sentences. Empty if all figures are
/// exact.
pub fn notes(profile: &Profile) -> Vec<String> {
    let bound = profile.capture.peak_error_bytes;
    let sampling = profile.capture.sampling.as_ref();
    let estimates = sampling.map(|sampling| {
        let totals = &profile.totals;
        let ends = |measure: Measure| {
            let interval = measure.interval(totals);
            let ends = interval.map_or_else(String::new, |interval| measure.ends(interval));
            let title = measure.title_in(profile.process.state);
            format!("{}: {ends}.", capital(title))
        };
        format!(
            "{} {} {}",
            sampling.explained(
                "Figures",
                totals.samples().map_or(0, |samples| samples.hits())
            ),
            ends(Measure::Peak),
            ends(Measure::Live)
        )
    });
    let peak = (bound > 0 && sampling.is_none()).then(|| {
        let peak = Measure::Peak.name_in(profile.process.state);
        format!("The {peak} is exact to within {}.", Bytes(bound))
    });
    estimates
        .into_iter()
        .chain(peak)
        .chain(profile.losses().iter().cloned())
        .collect()
}

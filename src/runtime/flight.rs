//! Where a runner stands with its store.

use crate::{
    core::{
        engine::{Proposal, Receipt},
        input::{Input, Ticket},
    },
    storage::{Authority, StoreError},
};

/// ```text
/// Idle ------- an input ----------------> Driving      decides, until there is nothing more
/// Driving ---- something to write ------> Appending
/// Appending -- written -----------------> Driving
///              another was faster ------> Checking     asks the store how the Session stands
///              the store failed --------> Checking
/// Driving ---- notice of a commit ------> Checking
/// Checking --- answered ----------------> Driving      on what the store has
///              the store fails still ---> Doubtful     until its wait is over, or an input comes
/// Doubtful -----------------------------> Checking
/// ```
pub(super) enum Phase {
    Idle,
    /// Somebody is in `drive` on some thread.
    Driving,
    /// An append is with the store.
    Appending {
        flight: Flight,
        answer: Answered,
    },
    /// The store failed, and it is asked how the Session stands when it answers again; so is what became of a
    /// commit, where there was one.
    Doubtful(Option<Flight>),
    /// The store is being asked that.
    Checking,
}

/// A proposal on its way, with the inputs it was decided from.
pub(super) struct Flight {
    pub proposal: Proposal,
    pub authority: Authority,
    pub inputs: Vec<Input>,
    /// Callers who were told already that their call failed.
    pub told: Vec<Ticket>,
}

impl Flight {
    /// The inputs whose callers wait still, and those that nobody waits for.
    pub fn untold(self) -> impl Iterator<Item = Input> {
        let Self { inputs, told, .. } = self;
        inputs.into_iter().filter(move |input| input.ticket().is_none_or(|ticket| !told.contains(&ticket)))
    }
}

pub(super) enum Answered {
    /// `append` has not returned yet; an answer that comes now is left for the driver.
    NotYet,
    /// The driver has left; the answer goes on by itself.
    Awaited,
    Ready(Result<Receipt, StoreError>),
}

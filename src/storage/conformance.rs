//! What every store must do, listed once: each case becomes one test for each store.

mod append;
mod lifecycle;
mod listing;
mod opening;
mod ownership;
mod reading;
mod replies;
mod streaming;

use std::sync::Arc;

use tempfile::TempDir;

use super::{
    Store,
    memory::MemoryStore,
    sqlite::{SqliteOptions, SqliteStore},
};

/// A store under test.
struct Harness {
    /// Taken only while the store is opened again.
    store: Option<Arc<dyn Store>>,
    /// How a store opens again what it keeps; `None` where it keeps nothing.
    reopen: Option<Box<dyn Fn() -> Arc<dyn Store>>>,
    _folder: Option<TempDir>,
}

impl Harness {
    fn memory() -> Self {
        Self { store: Some(Arc::new(MemoryStore::new())), reopen: None, _folder: None }
    }

    fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("missing/folder/sessions.db");
        let reopen =
            move || -> Arc<dyn Store> { Arc::new(SqliteStore::open(&path, SqliteOptions::default())) };
        Self { store: Some(reopen()), reopen: Some(Box::new(reopen)), _folder: Some(folder) }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.store.as_ref().expect("a store between two cases")
    }

    /// Lets the store go and opens what it kept; a store that keeps nothing stays.
    fn reopen(&mut self) {
        if let Some(reopen) = &self.reopen {
            self.store = None;
            self.store = Some(reopen());
        }
    }
}

macro_rules! conformance {
    ($($file:ident: $($case:ident)*;)*) => {
        mod memory {
            $($(#[test] fn $case() { super::$file::$case(&mut super::Harness::memory()); })*)*
        }
        mod sqlite {
            $($(#[test] fn $case() { super::$file::$case(&mut super::Harness::sqlite()); })*)*
        }
    };
}

conformance! {
    lifecycle:
        a_created_session_reads_back_as_it_was_written
        an_existing_id_is_refused_and_left_as_it_is
        an_archived_id_is_refused_too
        the_same_id_under_two_agents_is_two_sessions
        ids_are_compared_exactly
        an_unknown_session_is_not_found_by_any_call
        a_running_session_is_neither_archived_nor_removed
        archiving_twice_changes_nothing
        a_removed_session_leaves_nothing_behind;
    opening:
        fences_only_grow
        a_session_made_again_does_not_repeat_a_fence
        opening_takes_nothing_over
        opening_gives_what_is_not_finished
        a_part_that_consists_of_a_pending_interaction_is_open
        a_finished_turn_leaves_nothing_open
        the_queue_comes_in_the_order_of_its_positions
        an_entry_that_was_taken_out_of_the_queue_is_gone
        replay_records_come_with_their_call_in_order
        opening_completes_text_that_is_still_streaming;
    append:
        a_commit_reads_back_as_it_was_written
        a_stale_fence_is_refused_and_changes_nothing
        a_fence_never_given_takes_no_append
        a_conflict_is_refused_and_changes_nothing
        appends_are_applied_in_the_order_of_the_calls
        a_refused_append_does_not_harm_its_neighbours
        the_last_commit_id_tells_which_attempt_went_through
        a_commit_without_a_session_row_is_counted_all_the_same
        a_row_written_again_replaces_the_former
        sessions_are_written_from_many_threads_at_once;
    ownership:
        whoever_leaves_a_session_unfinished_owns_it_until_it_is_finished
        a_session_is_taken_only_as_it_was_seen
        a_guest_leaves_the_session_to_its_owner
        a_session_given_up_has_no_owner_and_only_its_owner_gives_it_up
        whoever_leaves_gives_up_all_it_owns
        a_member_lives_until_it_leaves
        the_others_are_given_notice_and_the_doer_is_not
        catching_up_gives_what_was_published_since
        unfinished_sessions_are_listed_with_their_owners
        the_feed_has_what_all_sessions_of_an_agent_publish_in_order;
    reading:
        the_last_messages_come_in_ascending_order
        a_page_ends_before_the_sequence_it_was_asked_for
        parts_come_in_the_order_of_their_sequence
        a_tool_part_carries_its_interactions_oldest_first
        a_tool_part_that_asked_nothing_carries_none
        a_part_that_consists_of_an_interaction_shows_it_as_it_is_now
        a_snapshot_shows_row_messages_and_what_is_pending
        pending_interactions_come_oldest_first_and_leave_when_answered
        an_interaction_is_found_whatever_its_status
        an_interaction_of_another_session_is_not_found
        the_journal_is_read_in_pages_after_a_revision
        strings_may_hold_nul
        values_may_be_nested_as_deep_as_the_limit
        values_keep_their_key_order_and_their_numbers;
    streaming:
        fragments_follow_the_text_of_the_row
        fragments_of_reasoning_and_tool_input_are_added_as_well
        fragments_of_the_commit_that_writes_the_row_are_in_it_already
        a_row_written_again_while_streaming_starts_anew
        a_part_that_is_done_has_the_whole_text_in_its_row
        each_fragment_belongs_to_its_own_part
        tool_input_without_fragments_has_no_text;
    listing:
        sessions_are_listed_the_one_touched_last_first
        ties_are_listed_by_id_across_pages
        archived_sessions_are_listed_apart
        a_summary_counts_what_is_pending
        other_agents_sessions_are_not_listed
        a_session_touched_while_paging_makes_no_other_appear_twice
        a_session_created_while_paging_makes_no_other_appear_twice
        what_is_pending_of_an_agent_comes_oldest_first_in_pages
        what_is_answered_while_paging_makes_no_other_appear_twice
        what_is_pending_in_an_archived_session_is_left_out
        other_agents_interactions_are_left_out
        a_cursor_of_another_kind_is_refused;
    replies:
        every_call_is_answered_exactly_once
        calls_still_queued_when_the_store_is_dropped_are_answered
        a_reply_may_call_the_store_again
        a_reply_may_drop_the_store;
}

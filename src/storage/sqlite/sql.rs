//! Every statement that reads or writes rows, in one place; a test asks SQLite how it would run each.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $sql;)*
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $sql)),*];
    };
}

statements! {
    FIND_SESSION = "SELECT id, fence, commits, revision, active_turn_id, archived_at, owner FROM sessions
        WHERE agent_id = ?1 AND session_id = ?2";
    SESSION = "SELECT session_id, metadata, approval_mode, effective_approval_mode, revision, commits,
        last_commit_id, message_count, active_turn_id, created_at, updated_at, last_guest_commit_id
        FROM sessions WHERE id = ?1";
    CREATE_SESSION = "INSERT INTO sessions (agent_id, session_id, metadata, approval_mode,
        effective_approval_mode, revision, commits, last_commit_id, message_count, active_turn_id, created_at,
        updated_at, last_guest_commit_id, fence) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
        ON CONFLICT (agent_id, session_id) DO NOTHING";
    NEXT_FENCE = "UPDATE store SET last_fence = last_fence + 1 RETURNING last_fence";
    SET_OWNER = "UPDATE sessions SET fence = ?2, owner = ?3 WHERE id = ?1";
    RELEASE = "UPDATE sessions SET owner = NULL WHERE id = ?1 AND owner = ?2";
    RELEASE_ALL = "UPDATE sessions SET owner = NULL WHERE owner = ?1 RETURNING id, agent_id, session_id";
    OWNS_ANYTHING = "SELECT EXISTS (SELECT 1 FROM sessions WHERE owner = ?1)";
    ENLIST = "INSERT INTO owners (owner, beat, lease_ms) VALUES (?1, 0, ?2) ON CONFLICT (owner) DO NOTHING";
    DISCHARGE = "DELETE FROM owners WHERE owner = ?1";
    BEAT = "UPDATE owners SET beat = beat + 1 WHERE owner = ?1";
    BEAT_OF = "SELECT beat, lease_ms FROM owners WHERE owner = ?1";
    IDLE_OWNERS = "SELECT owner FROM owners WHERE owner <> ?1
        AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.owner = owners.owner)";
    NOTE = "INSERT INTO notices (session) VALUES (?1)";
    FORGET_NOTES = "DELETE FROM notices WHERE id <= ?1";
    PLACE = "SELECT ifnull((SELECT max(id) FROM journal), 0), ifnull((SELECT max(id) FROM notices), 0)";
    EXTENT = "SELECT last_fence,
        ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0),
        ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'notices'), 0) FROM store";
    FEED_END = "SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0)";
    FEED = "SELECT journal.id, journal.body FROM journal CROSS JOIN sessions ON sessions.id = journal.session
        WHERE journal.id > ?2 AND sessions.agent_id = ?1 ORDER BY journal.id LIMIT ?3";
    PUBLISHED_SINCE = "SELECT session FROM journal WHERE id > ?1";
    NOTED_SINCE = "SELECT session FROM notices WHERE id > ?1";
    KEY_OF = "SELECT agent_id, session_id FROM sessions WHERE id = ?1";
    /// Those with something queued and no Turn.
    QUEUED = "SELECT sessions.session_id, sessions.owner FROM queue CROSS JOIN sessions ON sessions.id = queue.session
        WHERE sessions.agent_id = ?1 AND sessions.active_turn_id IS NULL";
    UNFINISHED = "SELECT session_id, owner FROM sessions
        WHERE agent_id = ?1 AND active_turn_id IS NOT NULL";
    ARCHIVE = "UPDATE sessions SET archived_at = ?2 WHERE id = ?1 AND archived_at IS NULL";
    REMOVE = "DELETE FROM sessions WHERE id = ?1";

    COUNT_COMMIT = "UPDATE sessions SET commits = ?2, last_commit_id = ?3, revision = ?4 WHERE id = ?1";
    PUT_SESSION = "UPDATE sessions SET metadata = ?2, approval_mode = ?3, effective_approval_mode = ?4,
        revision = ?5, commits = ?6, last_commit_id = ?7, message_count = ?8, active_turn_id = ?9,
        created_at = ?10, updated_at = ?11, last_guest_commit_id = ?12 WHERE id = ?1";
    PUT_TURN = "INSERT INTO turns (session, turn_id, body) VALUES (?1, ?2, ?3)
        ON CONFLICT (session, turn_id) DO UPDATE SET body = excluded.body";
    PUT_MESSAGE = "INSERT INTO messages (session, message_id, turn_id, role, sequence, revision, part_count,
        created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (session, message_id) DO UPDATE SET turn_id = excluded.turn_id,
        revision = excluded.revision, part_count = excluded.part_count, updated_at = excluded.updated_at";
    PUT_PART = "INSERT INTO parts (session, part_id, message_id, sequence, step_id, open, written, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (session, part_id) DO UPDATE SET open = excluded.open, written = excluded.written,
        body = excluded.body";
    PUT_INTERACTION = "INSERT INTO interactions (session, agent_id, interaction_id, part_id, message_id, pending,
        created_at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (session, interaction_id) DO UPDATE SET pending = excluded.pending, body = excluded.body";
    ENQUEUE = "INSERT INTO queue (session, queue_id, position, body) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (session, queue_id) DO UPDATE SET position = excluded.position, body = excluded.body";
    DEQUEUE = "DELETE FROM queue WHERE session = ?1 AND queue_id = ?2";
    PUT_REPLAY_RECORD = "INSERT INTO replay_records (session, tool_call_id, position, body)
        VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (session, tool_call_id, position) DO UPDATE SET body = excluded.body";
    PUBLISH = "INSERT INTO journal (session, revision, body, delta_part_id, delta_text)
        VALUES (?1, ?2, ?3, ?4, ?5)";

    QUEUE = "SELECT queue_id, position, body FROM queue WHERE session = ?1";
    TURN = "SELECT body FROM turns WHERE session = ?1 AND turn_id = ?2";
    MESSAGE = "SELECT message_id, turn_id, role, sequence, revision, part_count, created_at, updated_at
        FROM messages WHERE session = ?1 AND message_id = ?2";
    MESSAGES = "SELECT message_id, turn_id, role, sequence, revision, part_count, created_at, updated_at
        FROM messages WHERE session = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3";
    PARTS_OF_MESSAGE = "SELECT written, body FROM parts WHERE session = ?1 AND message_id = ?2 ORDER BY sequence";
    /// The Parts of a step, those that say that they are open, and those that still ask something.
    OPEN_PARTS = "SELECT written, body FROM parts WHERE id IN (
        SELECT id FROM parts WHERE session = ?1 AND step_id = ?2
        UNION ALL SELECT id FROM parts WHERE session = ?1 AND open = 1
        UNION ALL SELECT parts.id FROM interactions CROSS JOIN parts
            ON parts.session = interactions.session AND parts.part_id = interactions.part_id
            WHERE interactions.session = ?1 AND interactions.pending = 1)";
    DELTAS = "SELECT delta_text FROM journal WHERE session = ?1 AND revision > ?2 AND delta_part_id = ?3
        ORDER BY revision";
    INTERACTIONS_OF_PART = "SELECT asked, part_id, message_id, body FROM interactions
        WHERE session = ?1 AND part_id = ?2 ORDER BY asked";
    INTERACTION = "SELECT body FROM interactions WHERE session = ?1 AND interaction_id = ?2";
    PENDING = "SELECT body FROM interactions WHERE session = ?1 AND pending = 1 ORDER BY asked";
    PENDING_COUNT = "SELECT count(*) FROM interactions WHERE session = ?1 AND pending = 1";
    /// Those asked in the same millisecond as the last one of the page before.
    PENDING_OF_AGENT_TIES = "SELECT interactions.created_at, interactions.asked, sessions.session_id,
        interactions.body FROM interactions CROSS JOIN sessions ON sessions.id = interactions.session
        WHERE interactions.agent_id = ?1 AND interactions.pending = 1 AND sessions.archived_at IS NULL
        AND interactions.created_at = ?2 AND interactions.asked > ?3 ORDER BY interactions.asked LIMIT ?4";
    PENDING_OF_AGENT = "SELECT interactions.created_at, interactions.asked, sessions.session_id,
        interactions.body FROM interactions CROSS JOIN sessions ON sessions.id = interactions.session
        WHERE interactions.agent_id = ?1 AND interactions.pending = 1 AND sessions.archived_at IS NULL
        AND interactions.created_at > ?2 ORDER BY interactions.created_at, interactions.asked LIMIT ?3";
    REPLAY_RECORDS = "SELECT body FROM replay_records WHERE session = ?1 AND tool_call_id = ?2 ORDER BY position";
    JOURNAL = "SELECT revision, body FROM journal WHERE session = ?1 AND revision > ?2 ORDER BY revision LIMIT ?3";

    /// The Sessions touched in the same millisecond as the last one of the page before.
    LISTED_TIES = "SELECT id FROM sessions WHERE agent_id = ?1 AND archived_at IS NULL
        AND updated_at = ?2 AND session_id > ?3 ORDER BY session_id LIMIT ?4";
    LISTED = "SELECT id FROM sessions WHERE agent_id = ?1 AND archived_at IS NULL
        AND updated_at < ?2 ORDER BY updated_at DESC, session_id LIMIT ?3";
    ARCHIVED_TIES = "SELECT id FROM sessions WHERE agent_id = ?1 AND archived_at IS NOT NULL
        AND updated_at = ?2 AND session_id > ?3 ORDER BY session_id LIMIT ?4";
    ARCHIVED = "SELECT id FROM sessions WHERE agent_id = ?1 AND archived_at IS NOT NULL
        AND updated_at < ?2 ORDER BY updated_at DESC, session_id LIMIT ?3";
}

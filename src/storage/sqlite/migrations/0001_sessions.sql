-- Rows hold what is now; the journal holds what was published. Plain rowid tables: WITHOUT ROWID is slower
-- with rows of about a kilobyte. `body` is the JSON of the row's type.

CREATE TABLE store (
  -- Common to all Sessions, so that a Session made again under an old id never repeats a number.
  last_fence INTEGER NOT NULL
) STRICT;
INSERT INTO store (last_fence) VALUES (0);

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  metadata TEXT,
  approval_mode TEXT NOT NULL,
  effective_approval_mode TEXT NOT NULL,
  revision INTEGER NOT NULL,
  commits INTEGER NOT NULL,
  last_commit_id TEXT NOT NULL,
  last_guest_commit_id TEXT NOT NULL,
  message_count INTEGER NOT NULL,
  active_turn_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER,
  fence INTEGER NOT NULL,
  -- Set while something is unfinished and nobody gave it up.
  owner TEXT,
  UNIQUE (agent_id, session_id)
) STRICT;
CREATE INDEX sessions_listed ON sessions (agent_id, updated_at DESC, session_id) WHERE archived_at IS NULL;
CREATE INDEX sessions_owned ON sessions (owner) WHERE owner IS NOT NULL;
CREATE INDEX sessions_unfinished ON sessions (agent_id, session_id) WHERE active_turn_id IS NOT NULL;
CREATE INDEX sessions_archived ON sessions (agent_id, updated_at DESC, session_id) WHERE archived_at IS NOT NULL;

CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  turn_id TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, turn_id)
) STRICT;

CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  message_id TEXT NOT NULL,
  turn_id TEXT,
  role TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  part_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (session, message_id),
  UNIQUE (session, sequence)
) STRICT;

CREATE TABLE parts (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  part_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  step_id TEXT,
  open INTEGER NOT NULL,
  -- The Session's revision when the row was last written: later deltas are not in it yet.
  written INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, part_id),
  UNIQUE (session, message_id, sequence)
) STRICT;
CREATE INDEX parts_of_step ON parts (session, step_id) WHERE step_id IS NOT NULL;
CREATE INDEX parts_open ON parts (session) WHERE open = 1;

CREATE TABLE interactions (
  -- AUTOINCREMENT: the order of asking must not be repeated, page cursors hold it.
  asked INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  agent_id TEXT NOT NULL,
  interaction_id TEXT NOT NULL,
  part_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  pending INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, interaction_id)
) STRICT;
CREATE INDEX interactions_of_part ON interactions (session, part_id);
CREATE INDEX interactions_pending ON interactions (session) WHERE pending = 1;
CREATE INDEX interactions_pending_of_agent ON interactions (agent_id, created_at, asked) WHERE pending = 1;

CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  queue_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, queue_id)
) STRICT;

CREATE TABLE replay_records (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  tool_call_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, tool_call_id, position)
) STRICT;

CREATE TABLE journal (
  -- AUTOINCREMENT: whoever reads on from an id must not find another Mutation under it.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  body TEXT NOT NULL,
  delta_part_id TEXT,
  delta_text TEXT,
  UNIQUE (session, revision)
) STRICT;

CREATE TABLE owners (
  owner TEXT PRIMARY KEY,
  -- Grows from time to time while its process lives: several times within its lease.
  beat INTEGER NOT NULL,
  lease_ms INTEGER NOT NULL
) STRICT;

-- Changes that publish nothing and that other processes have to notice. A session of NULL means any.
CREATE TABLE notices (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER
) STRICT;

-- Threads and messages. The threads of a group belong to its conversation, whose number is never used again. When the group
-- is deleted, its conversation loses the group: every statement finds a thread through conversation and group, so nothing
-- of it is found from then on, and its rows are removed a slice at a time.

CREATE TABLE conversations (
  conversation_no INTEGER PRIMARY KEY AUTOINCREMENT,
  group_no INTEGER UNIQUE
) STRICT;

-- A deleted thread has neither project nor conversation, so its ID is free while its messages are removed. Short columns
-- come first, so that they are read without what the long texts fill.
CREATE TABLE threads (
  thread_no INTEGER PRIMARY KEY,
  project_no INTEGER,
  conversation_no INTEGER,
  id TEXT NOT NULL,
  revision TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_message_at INTEGER,
  resolved_at INTEGER,
  -- Of the message that arrived last.
  last_seq INTEGER NOT NULL,
  -- Counts the writes of the thread and its messages. A message has the count at its last change.
  position INTEGER NOT NULL,
  fields_position INTEGER NOT NULL,
  -- Removed messages up to this position are no longer stored.
  removed_to INTEGER NOT NULL,
  -- Distinguishes the thread from others that had its ID.
  epoch TEXT NOT NULL,
  user_messages INTEGER NOT NULL,
  action_messages INTEGER NOT NULL,
  deleted_messages INTEGER NOT NULL,
  name TEXT NOT NULL,
  url TEXT,
  location TEXT,
  metadata TEXT NOT NULL,
  UNIQUE (project_no, id)
) STRICT;
CREATE INDEX threads_by_conversation ON threads (conversation_no);

-- Each thread in every list that it is part of, in the order of the list. A key is a number made from what is listed: see
-- listKeys in the program.
CREATE TABLE thread_lists (
  project_no INTEGER NOT NULL,
  list_key INTEGER NOT NULL,
  is_resolved INTEGER NOT NULL,
  activity INTEGER NOT NULL,
  thread_no INTEGER NOT NULL,
  PRIMARY KEY (project_no, list_key, is_resolved, activity, thread_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE participants (
  thread_no INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  last_seen_at INTEGER NOT NULL,
  PRIMARY KEY (thread_no, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX participants_by_time ON participants (thread_no, last_seen_at DESC, user_id);

-- A message has the number (thread_no << 25) | seq: the messages of a thread lie together in order of arrival. Content with
-- a markdown_length is without its end; the texts that were appended to it are its pieces.
CREATE TABLE messages (
  message_no INTEGER PRIMARY KEY,
  thread_no INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  author_id TEXT NOT NULL,
  revision TEXT NOT NULL,
  position INTEGER NOT NULL,
  written_position INTEGER NOT NULL,
  is_action INTEGER NOT NULL,
  is_deleted INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  deleted_at INTEGER,
  markdown_length INTEGER,
  content_bytes INTEGER NOT NULL,
  url TEXT,
  metadata TEXT NOT NULL,
  content TEXT NOT NULL,
  UNIQUE (thread_no, id)
) STRICT;
-- Both orders of a thread's messages; unread messages are counted from it alone.
CREATE INDEX messages_by_time ON messages (thread_no, created_at, seq, is_deleted);

CREATE INDEX messages_by_position ON messages (thread_no, position);

CREATE TABLE removed_messages (
  thread_no INTEGER NOT NULL,
  position INTEGER NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (thread_no, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE message_pieces (
  message_no INTEGER NOT NULL,
  piece_no INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (message_no, piece_no)
) STRICT;

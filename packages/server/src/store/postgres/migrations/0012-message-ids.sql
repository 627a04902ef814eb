-- A message is found by its ID from this index alone, without the row of message_ids. Where the table is there, the index is built
-- before this migration: see postgres-added-indexes.ts.
CREATE UNIQUE INDEX IF NOT EXISTS message_ids_by_id ON message_ids (project_id, thread_no, id) INCLUDE (created_at, seq);
ALTER TABLE message_ids
  DROP CONSTRAINT message_ids_pkey,
  ADD CONSTRAINT message_ids_by_id PRIMARY KEY USING INDEX message_ids_by_id;

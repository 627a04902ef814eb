-- A message is found by its ID from this index alone, without the row of message_ids.
ALTER TABLE message_ids
  DROP CONSTRAINT message_ids_pkey,
  ADD PRIMARY KEY (project_id, thread_no, id) INCLUDE (created_at, seq);

-- The participants that a thread shows, as JSON: see shown-participants.ts. A thread is read with them from one row, and a message
-- that makes its author the most recent of them writes to one index less.
ALTER TABLE threads ADD COLUMN participants TEXT NOT NULL DEFAULT '[]';
UPDATE threads SET participants = (
  SELECT json_group_array(json_array(user_id, last_seen_at) ORDER BY last_seen_at DESC, user_id DESC) FROM (
    SELECT user_id, last_seen_at FROM participants p INDEXED BY participants_by_time WHERE p.thread_no = threads.thread_no
    ORDER BY last_seen_at DESC, user_id DESC LIMIT 100));
DROP INDEX participants_by_time;

-- Unread messages are counted without those that are deleted.
DROP INDEX messages_by_time;
CREATE INDEX messages_by_time ON messages (thread_no, created_at, seq);
CREATE INDEX messages_unread ON messages (thread_no, created_at) WHERE is_deleted = 0;

-- Participants of the same time come by descending ID, as on PostgreSQL.
DROP INDEX participants_by_time;
CREATE INDEX participants_by_time ON participants (thread_no, last_seen_at, user_id);

-- Unread messages are counted from this index, without those that are deleted. No other statement can use it.
CREATE INDEX messages_unread ON messages (project_id, thread_no, created_at) WHERE NOT deleted;

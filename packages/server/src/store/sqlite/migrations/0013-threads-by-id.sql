-- Finds the number and the conversation of a thread without its row, which a message's read does not need.
CREATE INDEX threads_by_id ON threads (project_no, id, conversation_no);

-- Records with a topic are found among those after a position. A new one is appended to this index; in one by topic it was
-- inserted anywhere, which cost a write another page of the log.
DROP INDEX changes_of_topic;
CREATE INDEX changes_with_topic ON changes (project_no, position, topic) WHERE topic IS NOT NULL;

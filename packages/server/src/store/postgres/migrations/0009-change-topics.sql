-- Under which name a record is found without the others: see change-topics.ts. Null where nobody follows such changes.
ALTER TABLE changes ADD COLUMN topic TEXT;
CREATE INDEX changes_of_topic ON changes (project_id, topic, position) WHERE topic IS NOT NULL;

-- `position` orders the rows by their writing, which is not the order of commits. `feed_position` is the order that readers
-- see: a row gets it after its commit. Of a write with several rows, all but the first have `first_position`: the `position` of
-- the first, so that they stay together.
ALTER TABLE changes ADD COLUMN first_position BIGINT;
ALTER TABLE changes ADD COLUMN feed_position BIGINT;
CREATE INDEX changes_to_order ON changes ((coalesce(first_position, position)), position) WHERE feed_position IS NULL;
CREATE UNIQUE INDEX changes_in_order ON changes (project_id, feed_position) WHERE feed_position IS NOT NULL;

-- The newest `feed_position` of each project.
CREATE TABLE change_heads (
  project_id UUID NOT NULL PRIMARY KEY,
  position BIGINT NOT NULL
);

-- One row, locked by the process that orders changes.
CREATE TABLE change_order (
  id SMALLINT NOT NULL PRIMARY KEY,
  pass UUID
);
INSERT INTO change_order (id) VALUES (1);

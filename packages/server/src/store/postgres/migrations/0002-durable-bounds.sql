-- What a user has of durable presence in a group, so that a write need not count it: how many locations, how many bytes of
-- text, the time of the latest one, and when all of it was counted. Where there is no row, or NULL, it has not been
-- counted, and the next write does. Processes of the version before write and remove locations without it, so it is
-- counted again where the bounds seem to be exceeded.
CREATE TABLE durable_usage (
  project_id UUID NOT NULL,
  group_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  locations INTEGER,
  bytes INTEGER,
  latest_at BIGINT,
  counted_at BIGINT,
  PRIMARY KEY (project_id, group_id, user_id)
);

-- A project's key is random and never used again: it is what callers hold, and a deleted project's key must stay dead.
-- IDs compare by code point (COLLATE "C"). JSON is kept as text, exactly as it was given. What may be longer than an
-- index entry takes, locations and regions, is found by its SHA-256.

CREATE TABLE store_secrets (
  name TEXT NOT NULL PRIMARY KEY,
  value BYTEA NOT NULL
);

CREATE TABLE customers (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  secret TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE projects (
  project_id UUID NOT NULL PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  customer_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  secret TEXT NOT NULL,
  previous_secret TEXT,
  previous_valid_until BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX projects_by_customer ON projects (customer_id, id);

-- Projects whose row is gone and whose data is being removed, a slice at a time. They stay here for a while after it was:
-- a write that began before the deletion may commit after it.
CREATE TABLE deleted_projects (
  project_id UUID NOT NULL PRIMARY KEY,
  deleted_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  emptied BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE TABLE sessions (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  project_id UUID NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at ASC);

CREATE TABLE users (
  project_id UUID NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  name TEXT,
  short_name TEXT,
  email TEXT,
  profile_picture_url TEXT,
  status TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  revision TEXT NOT NULL,
  send_via_messenger BOOLEAN NOT NULL DEFAULT TRUE,
  send_via_email BOOLEAN NOT NULL DEFAULT TRUE,
  PRIMARY KEY (project_id, id)
);

-- How many users a project has, in several rows whose sum it is: writers who create users would queue for a single one.
CREATE TABLE user_counts (
  project_id UUID NOT NULL,
  slot SMALLINT NOT NULL,
  users BIGINT NOT NULL,
  PRIMARY KEY (project_id, slot)
);

CREATE TABLE groups (
  project_id UUID NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  metadata TEXT NOT NULL,
  workspace TEXT,
  member_count BIGINT NOT NULL,
  revision TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
);

CREATE TABLE memberships (
  project_id UUID NOT NULL,
  group_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, group_id, user_id)
);
CREATE INDEX memberships_by_user ON memberships (project_id, user_id, group_id);

-- The place that a write replaces stays beside the new one, so that the same statement can say which it was.
CREATE TABLE durable_presence (
  project_id UUID NOT NULL,
  group_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  region_hash BYTEA NOT NULL,
  region TEXT NOT NULL,
  location_hash BYTEA NOT NULL,
  location TEXT NOT NULL,
  previous_location TEXT,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, group_id, user_id, region_hash)
);
CREATE INDEX durable_presence_by_time ON durable_presence (project_id, group_id, user_id, updated_at);
CREATE INDEX durable_presence_by_location
  ON durable_presence (project_id, group_id, location_hash, user_id, updated_at);

-- Each pair of each durable location, so that a location in part is found without looking at the others of the group.
-- All pairs of the location stand beside each of them: whether it has those asked for is seen without another look-up.
CREATE TABLE durable_pairs (
  project_id UUID NOT NULL,
  group_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  region_hash BYTEA NOT NULL,
  pair_hash BYTEA NOT NULL,
  pair_hashes BYTEA[] NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, group_id, user_id, region_hash, pair_hash)
);
CREATE INDEX durable_pairs_by_pair ON durable_pairs (project_id, group_id, pair_hash, user_id, updated_at);

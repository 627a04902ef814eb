-- Rows are named by numbers inside the store, so that an index entry stays small; a partner-specific ID stands only
-- where something is looked up or ordered by it. A project's number is never used again (AUTOINCREMENT): it is the key
-- that callers hold, and a deleted project's key must stay dead.

CREATE TABLE store_secrets (
  name TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE customers (
  id TEXT NOT NULL PRIMARY KEY,
  secret TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE projects (
  project_no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  customer_id TEXT NOT NULL,
  name TEXT NOT NULL,
  secret TEXT NOT NULL,
  previous_secret TEXT,
  previous_valid_until INTEGER,
  created_at INTEGER NOT NULL,
  user_count INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX projects_by_customer ON projects (customer_id, id);

-- Projects whose row is gone and whose data is being removed, a slice at a time.
CREATE TABLE deleted_projects (project_no INTEGER PRIMARY KEY) STRICT;

CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  project_no INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE users (
  user_no INTEGER PRIMARY KEY,
  project_no INTEGER NOT NULL,
  id TEXT NOT NULL,
  name TEXT,
  short_name TEXT,
  email TEXT,
  profile_picture_url TEXT,
  status TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  revision TEXT NOT NULL,
  send_via_messenger INTEGER NOT NULL DEFAULT 1,
  send_via_email INTEGER NOT NULL DEFAULT 1,
  UNIQUE (project_no, id)
) STRICT;

CREATE TABLE groups (
  group_no INTEGER PRIMARY KEY,
  project_no INTEGER NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  metadata TEXT NOT NULL,
  workspace TEXT,
  member_count INTEGER NOT NULL,
  revision TEXT NOT NULL,
  UNIQUE (project_no, id)
) STRICT;

-- The members of a group in order of ID, with what a member list shows of them: a list is read in one place, without
-- touching its users, who lie scattered over a large file. Whoever changes a user's name or e-mail changes it here too.
CREATE TABLE memberships (
  group_no INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  user_no INTEGER NOT NULL,
  name TEXT,
  email TEXT,
  PRIMARY KEY (group_no, user_id)
) STRICT, WITHOUT ROWID;

-- The same memberships from the user's side: the groups of a user in order of ID.
CREATE TABLE user_groups (
  user_no INTEGER NOT NULL,
  group_id TEXT NOT NULL,
  group_no INTEGER NOT NULL,
  PRIMARY KEY (user_no, group_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE durable_presence (
  group_no INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  region TEXT NOT NULL,
  user_no INTEGER NOT NULL,
  location TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (group_no, user_id, region)
) STRICT, WITHOUT ROWID;
CREATE INDEX durable_presence_by_location ON durable_presence (group_no, location, user_id);

-- Webhooks. `position` and `position_index` are how far one has come in the changes of its project (-1: at no position of this
-- store). `past_types` is a JSON array of [position, types]: the types that decide about the records up to that position.
-- `delivery_id` names the delivery that is fixed. A lease is over at `lease_until`.
CREATE TABLE webhooks (
  project_no INTEGER NOT NULL,
  id TEXT NOT NULL,
  url TEXT NOT NULL,
  types TEXT,
  status TEXT NOT NULL,
  secret TEXT NOT NULL,
  previous_secret TEXT,
  previous_valid_until INTEGER,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  position INTEGER NOT NULL DEFAULT -1,
  position_index INTEGER NOT NULL DEFAULT 0,
  past_types TEXT NOT NULL DEFAULT '[]',
  delivery_id TEXT,
  due_at INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  failing_since INTEGER,
  lease TEXT,
  lease_until INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_no, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_active ON webhooks (project_no, due_at) WHERE status = 'active';

-- The deliveries that are fixed: the same content in each attempt.
CREATE TABLE webhook_deliveries (
  project_no INTEGER NOT NULL,
  webhook_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  position_index INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (project_no, webhook_id)
) STRICT;

-- The last attempts of each webhook, which are numbered.
CREATE TABLE webhook_attempts (
  project_no INTEGER NOT NULL,
  webhook_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  delivery_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  milliseconds INTEGER NOT NULL,
  answer TEXT,
  PRIMARY KEY (project_no, webhook_id, number)
) STRICT;

-- Webhooks. `position` and `position_index` are how far one has come in the changes of its project (-1: at no position of this
-- store). `past_types` is a JSON array of [position, types]: the types that decide about the records up to that position.
-- `delivery_id` names the delivery that is fixed. A lease is over at `lease_until`.
CREATE TABLE webhooks (
  project_id UUID NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  url TEXT NOT NULL,
  types TEXT,
  status TEXT NOT NULL,
  secret TEXT NOT NULL,
  previous_secret TEXT,
  previous_valid_until BIGINT,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL DEFAULT 0,
  position BIGINT NOT NULL DEFAULT -1,
  position_index BIGINT NOT NULL DEFAULT 0,
  past_types TEXT NOT NULL DEFAULT '[]',
  delivery_id TEXT,
  due_at BIGINT NOT NULL DEFAULT 0,
  failures BIGINT NOT NULL DEFAULT 0,
  failing_since BIGINT,
  lease TEXT,
  lease_until BIGINT NOT NULL DEFAULT 0,
  attempts BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX webhooks_active ON webhooks (project_id, due_at) WHERE status = 'active';

-- The deliveries that are fixed: the same content in each attempt.
CREATE TABLE webhook_deliveries (
  project_id UUID NOT NULL,
  webhook_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  position_index BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (project_id, webhook_id)
);

-- The last attempts of each webhook, which are numbered.
CREATE TABLE webhook_attempts (
  project_id UUID NOT NULL,
  webhook_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  delivery_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  status BIGINT,
  error TEXT,
  milliseconds BIGINT NOT NULL,
  answer TEXT,
  PRIMARY KEY (project_id, webhook_id, number)
);

-- Durable presence has bounds per user and group: 10,000 locations, and 1 MiB of their text. The oldest beyond them end
-- here; from now on a write ends them. What they took is free for other rows.

DELETE FROM durable_presence WHERE presence_no IN (
  SELECT presence_no FROM (
    SELECT presence_no, row_number() OVER newest AS position, sum(bytes) OVER newest AS total
    FROM (
      SELECT presence_no, group_no, user_id, updated_at, octet_length(location) AS bytes
      FROM durable_presence INDEXED BY durable_presence_by_time)
    WINDOW newest AS (
      PARTITION BY group_no, user_id ORDER BY updated_at DESC, presence_no ROWS UNBOUNDED PRECEDING))
  WHERE position > 10000 OR total > 1048576);
DELETE FROM durable_places WHERE presence_no NOT IN (SELECT presence_no FROM durable_presence);

-- A region is found by a key, a number made from its text (place_key, which the program supplies), instead of by the
-- text: the index does not repeat the text. Whoever finds a presence by the key still compares the text. The short
-- columns come first, so that they are read without what the long texts fill.
CREATE TABLE keyed_presence (
  presence_no INTEGER PRIMARY KEY,
  group_no INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  region_key INTEGER NOT NULL,
  user_no INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  location TEXT NOT NULL,
  region TEXT NOT NULL
) STRICT;
INSERT INTO keyed_presence (presence_no, group_no, user_id, region_key, user_no, updated_at, location, region)
  SELECT presence_no, group_no, user_id, place_key(region), user_no, updated_at, location, region
  FROM durable_presence ORDER BY presence_no;
DROP TABLE durable_presence;
ALTER TABLE keyed_presence RENAME TO durable_presence;
CREATE INDEX durable_presence_by_region ON durable_presence (group_no, user_id, region_key);
CREATE INDEX durable_presence_by_time ON durable_presence (group_no, user_id, updated_at DESC);

-- What a user has of durable presence in a group, so that a write need not count it: how many locations, how many bytes of
-- text, and the time of the latest one.
CREATE TABLE durable_usage (
  group_no INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  locations INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  latest_at INTEGER NOT NULL,
  PRIMARY KEY (group_no, user_id)
) STRICT, WITHOUT ROWID;
INSERT INTO durable_usage (group_no, user_id, locations, bytes, latest_at)
  SELECT group_no, user_id, count(*), sum(octet_length(location)), max(updated_at)
  FROM durable_presence INDEXED BY durable_presence_by_time GROUP BY group_no, user_id;

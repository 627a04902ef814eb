-- Durable presence is read by what it is at and by who was where last, and neither costs what else is in the group.
-- A presence has a number, so that an entry which leads to it stays small however long its location is.

CREATE TABLE numbered_presence (
  presence_no INTEGER PRIMARY KEY,
  group_no INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  region TEXT NOT NULL,
  user_no INTEGER NOT NULL,
  location TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (group_no, user_id, region)
) STRICT;
INSERT INTO numbered_presence (group_no, user_id, region, user_no, location, updated_at)
  SELECT group_no, user_id, region, user_no, location, updated_at FROM durable_presence
  ORDER BY group_no, user_id, region;
DROP TABLE durable_presence;
ALTER TABLE numbered_presence RENAME TO durable_presence;

-- The latest place of each user comes first, and the next user is found without walking through the other places.
CREATE INDEX durable_presence_by_time ON durable_presence (group_no, user_id, updated_at DESC);

-- Each presence by the keys of its location: one for the whole of it, one for each of its pairs. A key is a number made
-- from a text (place_keys, which the program supplies); whoever finds a presence by one still compares the text.
CREATE TABLE durable_places (
  group_no INTEGER NOT NULL,
  place_key INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  presence_no INTEGER NOT NULL,
  PRIMARY KEY (group_no, place_key, user_id, presence_no)
) STRICT, WITHOUT ROWID;
INSERT INTO durable_places (group_no, place_key, user_id, presence_no)
  SELECT d.group_no, place_key.value, d.user_id, d.presence_no
  FROM durable_presence d CROSS JOIN json_each(place_keys(d.location)) place_key
  ORDER BY 1, 2, 3, 4;

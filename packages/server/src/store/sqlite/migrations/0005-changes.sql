-- What writes changed: a row for each write, or several where it changed very much. `changes` is a JSON array. A position is
-- never used again: the newest row of a project is not removed before the project is.
CREATE TABLE changes (
  project_no INTEGER NOT NULL,
  position INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  request_id TEXT,
  changes TEXT NOT NULL,
  PRIMARY KEY (project_no, position)
) STRICT, WITHOUT ROWID;

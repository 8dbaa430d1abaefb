-- What projects are charged, in billionths of a US dollar; days are counted from 1970-01-01.
ALTER TABLE projects ADD COLUMN spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0);
ALTER TABLE projects ADD COLUMN credit_limit INTEGER CHECK (credit_limit >= 0);
CREATE TABLE usage_days (
  project  INTEGER NOT NULL REFERENCES projects,
  day      INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  cost     INTEGER NOT NULL,
  PRIMARY KEY (project, day)
) STRICT, WITHOUT ROWID;

-- project, name, hash: the root key of that name, and any of that hash, which would be a second row for one secret; not one that is right already, nor
-- one that was revoked and so stays
DELETE FROM keys WHERE revoked_at IS NULL
  AND CASE WHEN project = ?1 AND name = ?2 AND scopes = '["root"]' THEN hash <> ?3 ELSE hash = ?3 END

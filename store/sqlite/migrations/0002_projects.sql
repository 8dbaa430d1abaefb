INSERT INTO meta (name, value) SELECT 'seq_projects', max(id) + 1 FROM projects;
CREATE INDEX keys_project ON keys (project, id);

CREATE INDEX keys_project ON keys (project, id);

CREATE INDEX claims_state ON claims (project, state, id) WHERE kind = 'w';

CREATE INDEX worker_claims_state ON worker_claims (project, state, id);

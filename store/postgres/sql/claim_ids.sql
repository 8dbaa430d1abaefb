-- $1 how many: ids for claims that may be made
SELECT nextval('claim_seq') FROM generate_series(1, $1)

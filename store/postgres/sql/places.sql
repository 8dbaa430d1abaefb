-- $1 how many: places after all that are there, for a transaction that has the groups locked
SELECT nextval('message_seq') FROM generate_series(1, $1::int)

-- $1 channel, $2 what other servers are told. There is nothing in it to be kept: a flush of its commit would be one more that those of publishes wait for.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)

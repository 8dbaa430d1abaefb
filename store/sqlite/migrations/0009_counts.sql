-- The writer keeps the counts itself, once a transaction: a trigger ran for each row. That a new queue has a row of counts stays.
DROP TRIGGER messages_in;
DROP TRIGGER messages_out;
DROP TRIGGER messages_dead_out;
DROP TRIGGER messages_lease_turned;
DROP TRIGGER messages_moved;
DROP TRIGGER messages_delay_in;
DROP TRIGGER messages_delay_out;
DROP TRIGGER messages_delay_over;
DROP TRIGGER messages_delay_begun;

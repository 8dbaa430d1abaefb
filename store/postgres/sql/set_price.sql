-- $1 billionths of a dollar, in digits. What stands there already is not written again.
INSERT INTO meta AS m (name, value) VALUES ('publish_price', convert_to($1, 'UTF8')) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE m.value <> excluded.value

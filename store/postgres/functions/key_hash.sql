-- The hash of a claim's key, as ledger.Hash makes it: each part with its length before it, so that no two lists of parts are one.
CREATE OR REPLACE FUNCTION onceward_key_hash(p_project bigint, VARIADIC p_parts text[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256('\x01'::bytea || int8send(p_project) || string_agg(int4send(octet_length(convert_to(p, 'UTF8'))) || convert_to(p, 'UTF8'), '' ORDER BY n))
  FROM unnest(p_parts) WITH ORDINALITY u(p, n)
$$

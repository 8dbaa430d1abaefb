-- The keyed hash in the id of a row, or in the handle of its receipt under a lease and from a queue, as package ids makes it.
CREATE OR REPLACE FUNCTION onceward_mac(p_kind text, p_project bigint, p_row bigint, p_lease int, p_queue text) RETURNS bytea LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  secret bytea := (SELECT value FROM meta WHERE name = 'secret');
  pads bytea[];
BEGIN
  secret := secret || decode(repeat('00', 64 - octet_length(secret)), 'hex');
  SELECT ARRAY[string_agg(set_byte('\x00', 0, get_byte(secret, i) # 54), '' ORDER BY i), string_agg(set_byte('\x00', 0, get_byte(secret, i) # 92), '' ORDER BY i)]
  INTO pads FROM generate_series(0, 63) i;
  RETURN substr(sha256(pads[2] || sha256(pads[1] || convert_to(p_kind, 'UTF8') || '\x00'::bytea || int8send(p_project) || int8send(p_row) || int4send(p_lease) || convert_to(p_queue, 'UTF8'))), 1, 9);
END $$;

-- The id of a row as clients see it: the row's number and a keyed hash, in base 62.
CREATE OR REPLACE FUNCTION onceward_id(p_kind text, p_project bigint, p_row bigint) RETURNS text LANGUAGE sql STABLE STRICT AS $$
  SELECT p_kind || onceward_base62(int8send(p_row) || onceward_mac(p_kind, p_project, p_row, 0, ''), 24)
$$;

-- Bytes in base 62, so many digits, the most significant first.
CREATE OR REPLACE FUNCTION onceward_base62(b bytea, p_digits int) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  n numeric := 0;
  digits text := '';
BEGIN
  FOR i IN 0..octet_length(b) - 1 LOOP
    n := n * 256 + get_byte(b, i);
  END LOOP;
  FOR i IN 1..p_digits LOOP
    digits := substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (n % 62)::int + 1, 1) || digits;
    n := div(n, 62);
  END LOOP;
  RETURN digits;
END $$;

-- The number that digits of base 62 are.
CREATE OR REPLACE FUNCTION onceward_unbase62(p_digits text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  n numeric := 0;
BEGIN
  FOR i IN 1..length(p_digits) LOOP
    n := n * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', substr(p_digits, i, 1)) - 1;
  END LOOP;
  RETURN n;
END $$;

-- The message and the lease that a receipt is of, which consume of this project's queue gave.
CREATE OR REPLACE FUNCTION onceward_receipt(p_project bigint, p_queue text, p_handle text, OUT message bigint, OUT lease int) LANGUAGE plpgsql STABLE AS $$
DECLARE
  n numeric := CASE WHEN p_handle ~ '^rct_[0-9A-Za-z]{29}$' THEN onceward_unbase62(substr(p_handle, 5)) END;
BEGIN
  IF p_queue IS NULL OR p_handle IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = 'queue and receipt_handle go together: the handle as consume gave it, and the queue that it consumed';
  END IF;
  IF div(n, 20282409603651670423947251286016) <= 9223372036854775807 AND div(n, 4722366482869645213696) % 4294967296 <= 2147483647 THEN -- 256 to the 13th, and to the 9th
    message := div(n, 20282409603651670423947251286016);
    lease := div(n, 4722366482869645213696) % 4294967296;
  END IF;
  IF (p_handle <> 'rct_' || onceward_base62(int8send(message) || int4send(lease) || onceward_mac('rct_', p_project, message, lease, p_queue), 29)) IS NOT FALSE THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = format('receipt_handle is none that consume of queue %s gave', quote_ident(p_queue));
  END IF;
END $$;

-- The row of an id; NULL if it is not one of this project and kind.
CREATE OR REPLACE FUNCTION onceward_row(p_kind text, p_project bigint, p_id text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  n numeric := CASE WHEN p_id ~ ('^' || p_kind || '[0-9A-Za-z]{24}$') THEN div(onceward_unbase62(substr(p_id, length(p_kind) + 1)), 4722366482869645213696) END; -- 256 to the 9th, what the hash takes
BEGIN
  IF n <= 9223372036854775807 AND onceward_id(p_kind, p_project, n::bigint) = p_id THEN
    RETURN n;
  END IF;
  RETURN NULL;
END $$;

-- The number of a project, by its name.
CREATE OR REPLACE FUNCTION onceward_project(p_name text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  n bigint := (SELECT id FROM projects WHERE name = p_name);
BEGIN
  IF n IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'OW404', MESSAGE = format('there is no project %s', coalesce(quote_ident(p_name), 'NULL')), HINT = 'the one that every store has is called default';
  END IF;
  RETURN n;
END $$;

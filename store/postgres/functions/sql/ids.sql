-- The id of a row as clients see it, as package ids makes it: the row's number and a keyed hash, in base 62.
CREATE OR REPLACE FUNCTION onceward_id(p_kind text, p_project bigint, p_row bigint) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
  secret bytea := (SELECT value FROM meta WHERE name = 'secret');
  pads bytea[];
BEGIN
  secret := secret || decode(repeat('00', 64 - octet_length(secret)), 'hex');
  SELECT ARRAY[string_agg(set_byte('\x00', 0, get_byte(secret, i) # 54), '' ORDER BY i), string_agg(set_byte('\x00', 0, get_byte(secret, i) # 92), '' ORDER BY i)]
  INTO pads FROM generate_series(0, 63) i;
  RETURN p_kind || onceward_base62(int8send(p_row) || substr(
    sha256(pads[2] || sha256(pads[1] || convert_to(p_kind, 'UTF8') || '\x00'::bytea || int8send(p_project) || int8send(p_row) || '\x00000000'::bytea)), 1, 9));
END $$;

-- Seventeen bytes in base 62, 24 digits, the most significant first.
CREATE OR REPLACE FUNCTION onceward_base62(b bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  n numeric := 0;
  digits text := '';
BEGIN
  FOR i IN 0..octet_length(b) - 1 LOOP
    n := n * 256 + get_byte(b, i);
  END LOOP;
  FOR i IN 1..24 LOOP
    digits := substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (n % 62)::int + 1, 1) || digits;
    n := div(n, 62);
  END LOOP;
  RETURN digits;
END $$;

-- The row of an id; NULL if it is not one of this project and kind.
CREATE OR REPLACE FUNCTION onceward_row(p_kind text, p_project bigint, p_id text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  n numeric := 0;
  digits text := substr(p_id, length(p_kind) + 1);
BEGIN
  IF p_id !~ ('^' || p_kind || '[0-9A-Za-z]{24}$') THEN
    RETURN NULL;
  END IF;
  FOR i IN 1..24 LOOP
    n := n * 62 + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', substr(digits, i, 1)) - 1;
  END LOOP;
  n := div(n, 4722366482869645213696); -- 256 to the 9th, what the hash takes
  IF n > 9223372036854775807 OR onceward_id(p_kind, p_project, n::bigint) <> p_id THEN
    RETURN NULL;
  END IF;
  RETURN n;
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

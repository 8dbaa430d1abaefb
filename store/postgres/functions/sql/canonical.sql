-- The canonical form of a JSON value, as package canon makes it: members sorted as RFC 8785 has them, strings and space in one form, numbers by their decimal value. Two
-- values that differ never have one form. A name twice in one object is refused, as it is over HTTP; so is what the database cannot hold: the
-- character U+0000, half of a surrogate pair, an exponent of more than a hundred thousand digits, a depth of some hundreds.
CREATE OR REPLACE FUNCTION onceward_canonical(v json) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  names bigint;
  different bigint;
  form text;
BEGIN
  CASE json_typeof(v)
  WHEN 'object' THEN
    SELECT count(*), count(DISTINCT m.key COLLATE "C"), '{' || coalesce(string_agg(to_json(m.key)::text || ':' || CASE json_typeof(m.value)
        WHEN 'string' THEN to_json(m.value #>> '{}')::text WHEN 'number' THEN onceward_canonical_number(m.value::text)
        WHEN 'object' THEN onceward_canonical(m.value) WHEN 'array' THEN onceward_canonical(m.value) ELSE m.value::text END,
      ',' ORDER BY CASE WHEN octet_length(m.key) = length(m.key) THEN m.key ELSE -- by UTF-16: what is beyond U+FFFF comes before U+E000
        regexp_replace(regexp_replace(m.key, '([\uE000-\uFFFF])', chr(57345) || '\1', 'g'), '([\U00010000-\U0010FFFF])', chr(57344) || '\1', 'g') END COLLATE "C"), '') || '}'
    INTO names, different, form FROM json_each(v) m;
    IF different < names THEN
      RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = 'payload is not JSON with each name once';
    END IF;
    RETURN form;
  WHEN 'array' THEN
    RETURN (SELECT '[' || coalesce(string_agg(CASE json_typeof(e.value)
        WHEN 'string' THEN to_json(e.value #>> '{}')::text WHEN 'number' THEN onceward_canonical_number(e.value::text)
        WHEN 'object' THEN onceward_canonical(e.value) WHEN 'array' THEN onceward_canonical(e.value) ELSE e.value::text END, ',' ORDER BY e.n), '') || ']'
      FROM json_array_elements(v) WITH ORDINALITY e(value, n));
  WHEN 'string' THEN
    RETURN to_json(v #>> '{}')::text;
  WHEN 'number' THEN
    RETURN onceward_canonical_number(btrim(v::text, E' \t\r\n'));
  ELSE
    RETURN btrim(v::text, E' \t\r\n');
  END CASE;
END $$;

-- A number as its digits without zeros at either end, "e", and the power of ten of the last.
CREATE OR REPLACE FUNCTION onceward_canonical_number(n text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  m text[];
  digits text;
  shift bigint;
BEGIN
  IF n ~ '^-?[0-9]*[1-9]$' THEN
    RETURN n || 'e0';
  END IF;
  m := regexp_match(n, '^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$');
  digits := rtrim(m[2] || coalesce(m[3], ''), '0');
  shift := length(m[2]) - length(digits);
  digits := ltrim(digits, '0');
  IF digits = '' THEN
    RETURN '0'; -- whatever its sign and its exponent
  END IF;
  RETURN m[1] || digits || 'e' || (coalesce(m[4], '0')::numeric + shift)::text;
END $$;

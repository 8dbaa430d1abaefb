-- The schema that the connection's search_path names first, where none of those that it names is there; empty if one is.
SELECT CASE WHEN current_schema() IS NULL THEN coalesce(trim(both '" ' FROM split_part(current_setting('search_path'), ',', 1)), '') ELSE '' END

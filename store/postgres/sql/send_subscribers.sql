-- The endpoints of tenants that may want events of some types: $1 project, $2 tenant (NULL: none), $3 patterns of all the types
SELECT e.id, e.project, coalesce(e.tenant, ''), e.event_types
FROM unnest($1::bigint[], $2::text[]) u(project, tenant) JOIN endpoints e ON e.project = u.project AND e.tenant = u.tenant
WHERE e.deleted_at IS NULL AND e.event_types && $3::text[]
UNION ALL
SELECT e.id, e.project, '', e.event_types
FROM unnest($1::bigint[], $2::text[]) u(project, tenant) JOIN endpoints e ON e.project = u.project AND e.tenant IS NULL AND u.tenant IS NULL
WHERE e.deleted_at IS NULL AND e.event_types && $3::text[]

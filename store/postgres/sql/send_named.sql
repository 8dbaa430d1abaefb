-- The endpoints that calls name: $1 id
SELECT id, project, coalesce(tenant, '') FROM endpoints WHERE id = ANY ($1::bigint[]) AND deleted_at IS NULL

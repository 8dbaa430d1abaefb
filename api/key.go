package api

import (
	"context"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
)

type keyView struct {
	ID        string         `json:"key_id"`
	Project   string         `json:"project_id"`
	Name      *string        `json:"name"`
	Scopes    []access.Scope `json:"scopes"`
	CreatedAt stamp          `json:"created_at"`
	ExpiresAt stamp          `json:"expires_at"`
	RevokedAt stamp          `json:"revoked_at"`
}

func (c *call) viewKey(k access.Key) keyView {
	return keyView{
		ID: c.keyID(k), Project: c.projectID(k.Project), Name: text(k.Name), Scopes: k.Scopes,
		CreatedAt: stamp(k.CreatedAt), ExpiresAt: stamp(k.ExpiresAt), RevokedAt: stamp(k.RevokedAt),
	}
}

func (c *call) keyID(k access.Key) string { return c.IDs.Encode(ids.Key, serverWide, k.ID) }

// keySecret is a key that is shown, this once.
type keySecret struct {
	keyView
	Key *string `json:"key"`
}

func (k keySecret) withoutSecret() any {
	k.Key = nil
	return k
}

type keyRequest struct {
	keyed
	Name      *string         `json:"name"`
	Scopes    *[]access.Scope `json:"scopes"`
	ExpiresAt moment          `json:"expires_at"`
	Project   *string         `json:"project_id"`
}

func (c *call) createKey() (any, error) {
	var r keyRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if r.Scopes == nil {
		return nil, fault.Invalid("/scopes", "scopes is required: what the key may do")
	}
	if r.Project != nil && *r.Project == "" {
		return nil, fault.Invalid("/project_id", "project_id is empty").WithHint("leave it out where the project of your own key is meant")
	}
	project, err := c.projectNamed("/project_id", or(r.Project, ""))
	if err != nil {
		return nil, err
	}
	n := access.NewKey{Project: project, Name: or(r.Name, ""), Scopes: *r.Scopes, ExpiresAt: r.ExpiresAt.Time}
	if err := n.Check(); err != nil {
		return nil, err
	}
	if err := c.key.MayGive(*r.Scopes); err != nil {
		return nil, err
	}
	same := struct {
		Project   int64
		Name      string
		Scopes    []access.Scope
		ExpiresAt time.Time
	}{n.Project, n.Name, n.Scopes, n.ExpiresAt}
	secret := access.NewSecret()
	n.Hash = access.Hash(secret)
	return c.once(r.Key, same, func(ctx context.Context) (any, error) {
		k, err := c.Store.CreateKey(ctx, n)
		return keySecret{c.viewKey(k), &secret}, err
	})
}

func (c *call) listKeys() (any, error) {
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	project, err := c.projectNamed("/project_id", c.query.get("project_id"))
	if err != nil {
		return nil, err
	}
	rows, err := c.Store.Keys(c.ctx, project, p.After, p.Limit+1)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, p.Limit, func(k access.Key) int64 { return k.ID })
	return list[keyView]{views(rows, c.viewKey), c.query.next(next)}, nil
}

// revokeKey ends a key. It is revoked already: the same answer, so that the call may be sent again.
func (c *call) revokeKey() (any, error) {
	s := c.r.PathValue("id")
	id, ok := c.IDs.Decode(ids.Key, serverWide, s)
	if !ok {
		return nil, noKeyNamed(s)
	}
	k, err := c.Store.Key(c.ctx, id)
	if fault.CodeOf(err) == fault.NotFound || err == nil && !c.key.Reaches(k.Project) {
		return nil, noKeyNamed(s)
	}
	if err != nil {
		return nil, err
	}
	if err := c.key.MayRevoke(k); err != nil {
		return nil, err
	}
	_, err = c.Store.RevokeKey(c.ctx, id)
	return deleted{true}, err
}

func noKeyNamed(id string) error {
	return fault.New(fault.NotFound, "there is no key %s", fault.Quote(id))
}

package api

import (
	"context"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
)

type projectView struct {
	ID        string   `json:"project_id"`
	Name      string   `json:"name"`
	CreatedAt stamp    `json:"created_at"`
	Limit     *dollars `json:"credit_limit_usd"`
}

func (c *call) viewProject(p access.Project) projectView {
	return projectView{ID: c.projectID(p.ID), Name: p.Name, CreatedAt: stamp(p.CreatedAt), Limit: dollarsOf(p.CreditLimit)}
}

// serverWide is the project to which the ids of projects and keys belong: a root key names those of any.
const serverWide = 0

func (c *call) projectID(id int64) string { return c.IDs.Encode(ids.Project, serverWide, id) }

type projectRequest struct {
	keyed
	Name  *string         `json:"name"`
	Limit optionalDollars `json:"credit_limit_usd"`
}

func (c *call) createProject() (any, error) {
	var r projectRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if r.Name == nil {
		return nil, fault.Invalid("/name", "name is required: the name of the project to make")
	}
	if err := access.CheckProjectName(*r.Name); err != nil {
		return nil, err
	}
	same := struct {
		Name        string
		CreditLimit *account.USD
	}{*r.Name, r.Limit.ptr()}
	return c.once(r.Key, same, func(ctx context.Context) (any, error) {
		p, err := c.Store.CreateProject(ctx, *r.Name, r.Limit.ptr())
		return c.viewProject(p), err
	})
}

func (c *call) listProjects() (any, error) {
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	rows, err := c.Store.Projects(c.ctx, p.After, p.Limit+1)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, p.Limit, func(p access.Project) int64 { return p.ID })
	return list[projectView]{views(rows, c.viewProject), c.query.next(next)}, nil
}

// projectNamed gives the project whose keys a call is about: the caller's own unless it names another by id, in field. What the caller
// does not reach is not there.
func (c *call) projectNamed(field, id string) (int64, error) {
	if id == "" {
		return c.project, nil
	}
	n, ok := c.IDs.Decode(ids.Project, serverWide, id)
	if !ok || !c.key.Reaches(n) {
		return 0, &fault.Error{Code: fault.NotFound, Field: field, Message: "there is no project " + fault.Quote(id)}
	}
	return n, nil
}

package sqlite

import (
	"context"
	"math"
	"strconv"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
)

// CreateProject makes a project.
func (db *DB) CreateProject(ctx context.Context, name string, creditLimit *account.USD) (p access.Project, err error) {
	if err := access.CheckProjectName(name); err != nil {
		return p, err
	}
	err = db.write(ctx, "create_project "+strconv.Quote(name), 0, func(t *tx) error {
		var taken bool
		if err := t.row("project_named", name).Scan(&taken); err != nil {
			return err
		}
		if taken {
			return access.NameTaken(name)
		}
		id, err := t.id(seqProjects)
		if err != nil {
			return err
		}
		p = access.Project{ID: id, Name: name, CreatedAt: t.now, CreditLimit: creditLimit}
		_, err = t.exec("project_insert", p.ID, p.Name, at(p.CreatedAt), creditLimit)
		return err
	})
	return p, err
}

// LimitCredit gives a project another limit.
func (db *DB) LimitCredit(ctx context.Context, id int64, limit *account.USD) (p access.Project, err error) {
	err = db.write(ctx, "limit_credit", 0, func(t *tx) error {
		if _, err := t.exec("project_limit", limit, id); err != nil {
			return err
		}
		ok, err := found(loadProject(t.row("project_get", id), &p))
		if err == nil && !ok {
			err = access.NoProject()
		}
		return err
	})
	return p, err
}

func loadProject(s scanner, p *access.Project) error {
	return s.Scan(&p.ID, &p.Name, toTime(&p.CreatedAt), &p.CreditLimit)
}

// Projects lists them, newest first.
func (db *DB) Projects(ctx context.Context, after int64, limit int) (out []access.Project, err error) {
	if after == 0 {
		after = math.MaxInt64
	}
	err = db.read(ctx, "projects", func(t *tx) error {
		return t.each("project_list", func(s scanner) error {
			var p access.Project
			err := loadProject(s, &p)
			out = append(out, p)
			return err
		}, after, limit)
	})
	return out, err
}

package sqlite

import (
	"context"
	"math"
	"strconv"

	"github.com/onceward/onceward/access"
)

// CreateProject makes a project.
func (db *DB) CreateProject(ctx context.Context, name string) (p access.Project, err error) {
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
		p = access.Project{ID: id, Name: name, CreatedAt: t.now}
		_, err = t.exec("project_insert", p.ID, p.Name, at(p.CreatedAt))
		return err
	})
	return p, err
}

// Projects lists them, newest first.
func (db *DB) Projects(ctx context.Context, after int64, limit int) (out []access.Project, err error) {
	if after == 0 {
		after = math.MaxInt64
	}
	err = db.read(ctx, "projects", func(t *tx) error {
		return t.each("project_list", func(s scanner) error {
			var p access.Project
			err := s.Scan(&p.ID, &p.Name, toTime(&p.CreatedAt))
			out = append(out, p)
			return err
		}, after, limit)
	})
	return out, err
}

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
)

var (
	projectInsertSQL = stmt("project_insert")
	projectLimitSQL  = stmt("project_limit")
	projectThereSQL  = stmt("project_there")
	projectListSQL   = stmt("project_list")
)

// CreateProject makes a project. The unique constraint decides between two of a name.
func (db *DB) CreateProject(ctx context.Context, name string, creditLimit *account.USD) (p access.Project, err error) {
	if err := access.CheckProjectName(name); err != nil {
		return p, err
	}
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		p, err = scanProject(tx.QueryRow(ctx, projectInsertSQL, name, creditLimit))
		if errors.Is(err, pgx.ErrNoRows) {
			return access.NameTaken(name)
		}
		return err
	})
	return p, wrap("create project", name, err)
}

// LimitCredit gives a project another limit.
func (db *DB) LimitCredit(ctx context.Context, id int64, limit *account.USD) (p access.Project, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		p, err = scanProject(tx.QueryRow(ctx, projectLimitSQL, id, limit))
		if errors.Is(err, pgx.ErrNoRows) {
			return access.NoProject()
		}
		return err
	})
	return p, wrap("limit credit", "", err)
}

// Projects lists them, newest first.
func (db *DB) Projects(ctx context.Context, after int64, limit int) (out []access.Project, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, projectListSQL, after, limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (access.Project, error) { return scanProject(r) })
		return err
	})
	return out, wrap("projects", "", err)
}

func scanProject(r pgx.Row) (p access.Project, err error) {
	err = r.Scan(&p.ID, &p.Name, &p.CreatedAt, &p.CreditLimit)
	return p, err
}

package access

import (
	"context"
	"regexp"
	"time"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
)

// Project is a world of its own: no key of one reads, changes or can tell anything of another.
type Project struct {
	ID        int64
	Name      string
	CreatedAt time.Time

	// CreditLimit is the most that it may be charged for what it publishes, since it was made; nil: any amount.
	CreditLimit *account.USD
}

// ErrConflict is for errors.Is.
var ErrConflict = fault.Sentinel(fault.Conflict)

var projectName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// CheckProjectName refuses what cannot be a project's name.
func CheckProjectName(name string) error {
	if !projectName.MatchString(name) {
		return fault.Invalid("/name", "the project's name %s is not 1 to 128 of A-Za-z0-9._-", fault.Quote(name))
	}
	return nil
}

// NameTaken is the answer to the making of a project whose name another one has.
func NameTaken(name string) error {
	e := fault.New(fault.Conflict, "there is a project %s already", fault.Quote(name)).WithHint("take another name; GET /v1/projects lists them")
	e.Field = "/name"
	return e
}

// Registry is what people do with projects and their keys.
type Registry interface {
	// CreateProject makes a project, with a limit or, nil, without. ErrConflict if another has the name.
	CreateProject(ctx context.Context, name string, creditLimit *account.USD) (Project, error)
	// LimitCredit gives a project another limit, or, nil, none: ErrNotFound. It may be less than what is spent: then nothing that costs is published.
	LimitCredit(ctx context.Context, id int64, limit *account.USD) (Project, error)
	// Projects lists at most limit of them, the newest first, those before the id after; 0: from the newest.
	Projects(ctx context.Context, after int64, limit int) ([]Project, error)
	// CreateKey makes a key, by the database's clock: ErrNotFound if there is no such project. It also forgets some of the project's keys that
	// ended longer than Memory ago, so that keys made and ended for ever do not pile up.
	CreateKey(ctx context.Context, n NewKey) (Key, error)
	// Key finds a key of any project, whether it is live or not: ErrNotFound.
	Key(ctx context.Context, id int64) (Key, error)
	// Keys lists at most limit keys of a project, the newest first, those before the id after; 0: from the newest.
	Keys(ctx context.Context, project, after int64, limit int) ([]Key, error)
	// RevokeKey ends a key for good; one that is revoked stays as it is: ErrNotFound.
	RevokeKey(ctx context.Context, id int64) (Key, error)
}

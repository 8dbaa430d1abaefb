package main

import "context"

type projectCmd struct {
	Create projectCreateCmd `cmd:"" help:"Make a project: a world of its own."`
	List   projectListCmd   `cmd:"" help:"List projects, the newest first."`
}

const projectsPath = "/v1/projects"

type projectCreateCmd struct {
	remote
	keyed
	Name string `arg:"" help:"Its name, 1 to 128 of A-Za-z0-9._-"`
}

func (projectCreateCmd) Help() string { return examples("project create team-7") }

func (c *projectCreateCmd) Run(ctx context.Context, out output) error {
	var o object
	if _, err := c.call(ctx, "POST", projectsPath, c.into(object{"name": c.Name}), &o); err != nil {
		return err
	}
	return c.fields(out, o, "project_id", "name")
}

type projectListCmd struct{ lister }

func (projectListCmd) Help() string { return examples("project list", "project list -q") }

func (c *projectListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, projectsPath, "project_id", "name", "created_at")
}

package main

import (
	"context"
	"net/url"
)

type projectCmd struct {
	Create projectCreateCmd `cmd:"" help:"Make a project: a world of its own."`
	Limit  projectLimitCmd  `cmd:"" help:"Give a project another credit limit, or none."`
	List   projectListCmd   `cmd:"" help:"List projects, the newest first."`
}

const projectsPath = "/v1/projects"

type projectCreateCmd struct {
	remote
	keyed
	Name           string   `arg:"" help:"Its name, 1 to 128 of A-Za-z0-9._-"`
	CreditLimitUSD *dollars `name:"credit-limit-usd" help:"The most that it may be charged for what it publishes, in US dollars (none)."`
}

func (projectCreateCmd) Help() string {
	return examples("project create team-7", "project create team-8 --credit-limit-usd 20")
}

func (c *projectCreateCmd) Run(ctx context.Context, out output) error {
	var o object
	body := c.into(object{"name": c.Name})
	if c.CreditLimitUSD != nil {
		body["credit_limit_usd"] = c.CreditLimitUSD.Value
	}
	if _, err := c.call(ctx, "POST", projectsPath, body, &o); err != nil {
		return err
	}
	return c.fields(out, o, "project_id", "name", "credit_limit_usd")
}

type projectLimitCmd struct {
	remote
	ID  string  `arg:"" help:"Project id, prj_…"`
	USD dollars `arg:"" help:"The most that it may be charged since it was made, in US dollars, or none."`
}

func (projectLimitCmd) Help() string {
	return examples("project limit "+exampleProject+" 50", "project limit "+exampleProject+" none")
}

func (c *projectLimitCmd) Run(ctx context.Context, out output) error {
	var o object
	if _, err := c.call(ctx, "PATCH", projectsPath+"/"+url.PathEscape(c.ID), object{"credit_limit_usd": c.USD.Value}, &o); err != nil {
		return err
	}
	return c.fields(out, o, "project_id", "name", "credit_limit_usd")
}

type projectListCmd struct{ lister }

func (projectListCmd) Help() string { return examples("project list", "project list -q") }

func (c *projectListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, projectsPath, "project_id", "name", "created_at", "credit_limit_usd")
}

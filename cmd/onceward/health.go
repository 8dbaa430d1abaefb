package main

import "context"

type healthCmd struct{ remote }

func (healthCmd) Help() string {
	return examples("health", "health --url http://10.0.0.7:6623") + "\n\nIt exits 1 unless the server is ready, which fits a container's health check. No key is needed."
}

func (c *healthCmd) Run(ctx context.Context, out output) error {
	all := object{}
	for name, path := range map[string]string{"alive": "/healthz", "ready": "/readyz"} {
		var o object
		if _, err := c.call(ctx, "GET", path, nil, &o); err != nil {
			return err
		}
		all[name] = o["status"]
	}
	return c.fields(out, all, "alive", "ready")
}

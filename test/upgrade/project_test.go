package upgrade

import (
	"fmt"
	"math"
)

// project is one beside the default one, and its keys.
type project struct {
	ID      string
	Admin   string // keys: of all of it, of looking alone, and a revoked one
	Read    string
	Revoked string
	Message string
	Limited bool // it has a credit limit, which is used up
}

func writeProject(c *caller) *project {
	made, ok := c.knows("POST", "/v1/projects", object{"name": "other"})
	if !ok {
		return nil
	}
	p := &project{ID: made["project_id"].(string)}
	key := func(scope string) object {
		return c.do("POST", "/v1/keys", object{"project_id": p.ID, "scopes": []string{scope}})
	}
	p.Admin, p.Read = key("admin")["key"].(string), key("read")["key"].(string)
	revoked := key("admin")
	p.Revoked = revoked["key"].(string)
	c.do("DELETE", "/v1/keys/"+revoked["key_id"].(string), nil)
	theirs := &caller{c.t, c.url, p.Admin}
	theirs.do("POST", "/v1/queue/create", object{"name": "jobs"})
	p.Message = theirs.publish(object{"queue": "jobs", "payload": "theirs"})
	_, p.Limited = c.knows("PATCH", "/v1/projects/"+p.ID, object{"credit_limit_usd": 0.001})
	return p
}

func (p *project) check(c *caller, foreign string) {
	if p == nil {
		return
	}
	theirs := &caller{c.t, c.url, p.Admin}
	if got := theirs.list("/v1/queue/messages/jobs"); fmt.Sprint(got) != fmt.Sprint([]string{p.Message}) {
		c.t.Errorf("the other project's messages are %v, want %s", got, p.Message)
	}
	theirs.refuses(404, "GET", "/v1/webhooks/deliveries/"+foreign, nil)
	theirs.refuses(403, "POST", "/v1/projects", object{"name": "third"})
	(&caller{c.t, c.url, p.Read}).refuses(403, "POST", "/v1/queue/consume", object{"queue": "jobs"})
	(&caller{c.t, c.url, p.Revoked}).refuses(401, "GET", "/v1/queue/list", nil)
	if p.Limited {
		theirs.refuses(402, "POST", "/v1/queue/publish", object{"queue": "jobs", "payload": "more"})
	}
	m := theirs.receive("jobs", 60)
	if m["message_id"] != p.Message {
		c.t.Errorf("the other project received %v, want %s", m, p.Message)
	}
	theirs.ack("jobs", m)
}

// usage is what the default project was charged.
type usage struct {
	Messages float64
	Spent    float64
}

func writeUsage(c *caller) *usage {
	b, ok := c.knows("GET", "/v1/account/balance", nil)
	if !ok {
		return nil
	}
	u := c.charged()
	if u.Spent == 0 || u.Spent != b["spent_usd"] {
		c.t.Fatalf("charged was %v, and the balance says %v", u, b)
	}
	return u
}

// charged adds up the days.
func (c *caller) charged() *usage {
	u := &usage{}
	for _, d := range c.do("GET", "/v1/account/usage", nil)["items"].([]any) {
		u.Messages += d.(object)["messages"].(float64)
		u.Spent += d.(object)["cost_usd"].(float64)
	}
	return u
}

func (u *usage) check(c *caller) {
	if u == nil {
		return
	}
	b := c.do("GET", "/v1/account/balance", nil)
	if now := c.charged(); now.Messages != u.Messages || math.Abs(now.Spent-u.Spent) > 1e-10 || math.Abs(b["spent_usd"].(float64)-u.Spent) > 1e-10 {
		c.t.Errorf("charged were %v, now the days say %v and the balance %v", *u, *now, b)
	}
}

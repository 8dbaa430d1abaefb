package upgrade

// pushed is a queue whose messages are sent to a URL. It is paused, with one in it.
type pushed struct {
	ID      string
	Message string
}

const (
	pushHost   = "pushes.example"
	pushURL    = "http://" + pushHost + "/hook"
	pushSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
)

func writePushed(c *caller) *pushed {
	c.do("POST", "/v1/queue/create", object{"name": "pushed"})
	made, ok := c.knows("POST", "/v1/queue/push_subscribe/pushed", object{"url": pushURL, "secret": pushSecret})
	if !ok {
		return nil
	}
	c.do("POST", "/v1/queue/pause/pushed", nil)
	return &pushed{made["id"].(string), c.publish(object{"queue": "pushed", "payload": "pushed"})}
}

func (p *pushed) check(c *caller, r *receiver) {
	if p == nil {
		return
	}
	all := c.do("GET", "/v1/queue/push_list/pushed", nil)["items"].([]any)
	if len(all) != 1 || all[0].(object)["id"] != p.ID || all[0].(object)["url"] != pushURL {
		c.t.Errorf("the subscriptions are %v, want %s to %s", all, p.ID, pushURL)
	}
	c.do("POST", "/v1/queue/resume/pushed", nil)
	c.eventually("what was published is pushed and acked", func() (object, bool) {
		left := c.list("/v1/queue/messages/pushed")
		return object{"left": left}, len(left) == 0
	})
	r.came(c.t, p.Message, pushSecret)
}

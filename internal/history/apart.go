package history

// apart sees that no answer names what is of another project. A thing, and the id that it got, is of the project that handed it over.
func (c *checker) apart() {
	of := map[string]string{}
	for _, e := range c.Events {
		if e.Do != Publish && e.Do != Send {
			continue
		}
		for _, name := range []string{e.Thing, e.Message} {
			if name != "" {
				c.names(of, name, e.Project)
				of[name] = e.Project
			}
		}
	}
	for _, e := range c.Events {
		if e.Do == Receive {
			c.names(of, e.Thing, e.Project)
			c.names(of, e.Message, e.Project)
		}
		for _, name := range e.Names {
			c.names(of, name, e.Project)
		}
	}
}

func (c *checker) names(of map[string]string, name, to string) {
	if whose, known := of[name]; known && whose != to {
		c.say("I13", "an answer to project %q names %s, which is of project %q", to, name, whose)
	}
}

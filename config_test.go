package onceward

import (
	"strings"
	"testing"
	"time"
)

func TestConfigNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config Config
		want   string // in the error; empty: none
	}{
		"zero":                                  {Config{}, ""},
		"sqlite":                                {Config{Store: "sqlite:a.db"}, ""},
		"postgres":                              {Config{Store: "postgres://a:b@c/d"}, ""},
		"no path":                               {Config{Store: "sqlite:"}, "Store"},
		"memory":                                {Config{Store: "sqlite::memory:"}, "Store"},
		"other store":                           {Config{Store: "mysql://root:hush@x/y"}, "Store"},
		"short key":                             {Config{APIKey: "short"}, "APIKey"},
		"key with a space":                      {Config{APIKey: "sixteen chars and"}, "APIKey"},
		"long key":                              {Config{APIKey: strings.Repeat("k", 256)}, "APIKey"},
		"secrets key":                           {Config{SecretsKey: make([]byte, 31)}, "SecretsKey"},
		"grace":                                 {Config{Grace: -1}, "Grace"},
		"H-W04: lease shorter than the request": {Config{DeliverySlack: time.Millisecond}, "DeliverySlack"},
		"H-W04: lease below the time-out":       {Config{DeliverySlack: -5 * time.Second}, "DeliverySlack"},
		"concurrency":                           {Config{SendConcurrency: -1}, "SendConcurrency"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.config.Check()
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), "config "+c.want)):
				t.Errorf("got %v, want one about %s", err, c.want)
			case err != nil && strings.Contains(err.Error(), "hush"):
				t.Errorf("a password is shown: %v", err)
			}
		})
	}
}

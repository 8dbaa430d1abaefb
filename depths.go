package onceward

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store"
)

// depths asks the store, at each scrape, how deep its queues are: the server's own of deliveries and the projects', at most
// mostQueues of them so that a scrape stays bounded.
type depths struct {
	store    store.Store
	messages *prometheus.Desc
	oldest   *prometheus.Desc
	up       *prometheus.Desc
}

const (
	mostQueues = 100
	scrapeTime = 5 * time.Second
)

func newDepths(s store.Store) *depths {
	labels := []string{"project", "queue"}
	return &depths{
		store: s,
		messages: prometheus.NewDesc("onceward_queue_messages",
			"Messages of a queue by state; dead_lettered are those that came from it.", append(labels, "state"), nil),
		oldest: prometheus.NewDesc("onceward_queue_oldest_seconds", "Age of a queue's oldest unacked message.", labels, nil),
		up:     prometheus.NewDesc("onceward_store_up", "1 if the store answered this scrape.", nil, nil),
	}
}

func (d *depths) Describe(ch chan<- *prometheus.Desc) {
	ch <- d.messages
	ch <- d.oldest
	ch <- d.up
}

func (d *depths) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	up := 1.0
	queues, err := d.queues(ctx)
	if err != nil {
		up = 0
	}
	for _, q := range append(queues, queue.Queue{Name: queue.Deliveries}) {
		st, err := d.store.QueueStats(ctx, q.Project, q.Name)
		if err != nil {
			if ctx.Err() != nil {
				up = 0
			}
			continue // deleted meanwhile
		}
		labels := []string{strconv.FormatInt(q.Project, 10), q.Name}
		for state, n := range map[queue.Status]int64{queue.Available: st.Available, queue.InFlight: st.InFlight, queue.Delayed: st.Delayed, queue.Dead: st.Dead} {
			ch <- prometheus.MustNewConstMetric(d.messages, prometheus.GaugeValue, float64(n), append(labels, string(state))...)
		}
		ch <- prometheus.MustNewConstMetric(d.oldest, prometheus.GaugeValue, st.OldestAge.Seconds(), labels...)
	}
	ch <- prometheus.MustNewConstMetric(d.up, prometheus.GaugeValue, up)
}

// queues gives the default project's queues, then those of the newest projects.
func (d *depths) queues(ctx context.Context) (out []queue.Queue, err error) {
	projects, err := d.store.Projects(ctx, 0, mostProjects)
	if err != nil {
		return nil, err
	}
	of := []int64{access.DefaultProject}
	for _, p := range projects {
		if p.ID != access.DefaultProject {
			of = append(of, p.ID)
		}
	}
	for _, project := range of {
		if len(out) == mostQueues {
			break
		}
		some, err := d.store.Queues(ctx, project, queue.Page{Limit: mostQueues - len(out)})
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

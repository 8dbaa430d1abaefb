package api

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

// route is a call of the contract.
type route struct {
	method, path string         // the parameters of its query behind the path's "?"
	scopes       []access.Scope // any of them will do; none: open without a key, and whatever query
	serve        func(*call) (any, error)
}

// split gives the path alone, and the parameters of the query.
func (rt route) split() (path string, parameters []string) {
	path, names, _ := strings.Cut(rt.path, "?")
	return path, strings.FieldsFunc(names, func(r rune) bool { return r == '&' })
}

func routes() []route {
	var (
		open     []access.Scope
		publish  = []access.Scope{access.Publish}
		consume  = []access.Scope{access.Consume}
		read     = []access.Scope{access.Read}
		admin    = []access.Scope{access.Admin}
		webhooks = []access.Scope{access.Webhooks}
		look     = []access.Scope{access.Webhooks, access.Read}
		undo     = []access.Scope{access.Webhooks, access.Admin}
		root     = []access.Scope{access.Root}
	)
	return []route{
		{"GET", "/healthz", open, (*call).healthz},
		{"GET", "/readyz", open, (*call).readyz},

		{"POST", "/v1/queue/create", admin, (*call).createQueue},
		{"POST", "/v1/queue/update/{queue}", admin, (*call).updateQueue},
		{"GET", "/v1/queue/list?cursor&limit", read, (*call).listQueues},
		{"GET", "/v1/queue/get/{queue}", read, (*call).getQueue},
		{"DELETE", "/v1/queue/delete/{queue}?force", admin, (*call).deleteQueue},
		{"POST", "/v1/queue/pause/{queue}", admin, (*call).pauseQueue},
		{"POST", "/v1/queue/resume/{queue}", admin, (*call).resumeQueue},
		{"POST", "/v1/queue/purge/{queue}", admin, (*call).purgeQueue},
		{"GET", "/v1/queue/stats/{queue}", read, (*call).queueStats},
		{"GET", "/v1/queue/messages/{queue}?status&cursor&limit", read, (*call).messages},

		{"POST", "/v1/queue/publish", publish, (*call).publish},
		{"POST", "/v1/queue/publish_batch", publish, (*call).publishBatch},
		{"POST", "/v1/queue/consume", consume, (*call).consume},
		{"POST", "/v1/queue/ack", consume, settleOne[ackItem](queue.Ack)},
		{"POST", "/v1/queue/nack", consume, settleOne[nackItem](queue.Nack)},
		{"POST", "/v1/queue/release", consume, settleOne[releaseItem](queue.Release)},
		{"POST", "/v1/queue/extend", consume, settleOne[extendItem](queue.Extend)},
		{"POST", "/v1/queue/ack_batch", consume, settleMany[ackItem](queue.Ack)},
		{"POST", "/v1/queue/nack_batch", consume, settleMany[nackItem](queue.Nack)},
		{"POST", "/v1/queue/release_batch", consume, settleMany[releaseItem](queue.Release)},
		{"POST", "/v1/queue/extend_batch", consume, settleMany[extendItem](queue.Extend)},

		{"GET", "/v1/queue/dlq/list/{queue}?cursor&limit", read, (*call).deadLetters},
		{"POST", "/v1/queue/dlq/redrive/{queue}", admin, (*call).startRedrive},
		{"GET", "/v1/queue/dlq/redrive/{queue}", look, (*call).getRedriveOf},
		{"POST", "/v1/queue/dlq/redrive_cancel/{id}", undo, (*call).cancelRedrive},
		{"GET", "/v1/redrives/{id}", look, (*call).getRedrive},
		{"GET", "/v1/redrives/{id}/endpoints?cursor&limit", look, (*call).redriveParts},
		{"POST", "/v1/redrives/{id}/cancel", undo, (*call).cancelRedrive},

		{"POST", "/v1/queue/push_subscribe/{queue}", admin, (*call).subscribe},
		{"GET", "/v1/queue/push_list/{queue}?cursor&limit", read, (*call).subscriptions},
		{"DELETE", "/v1/queue/push_unsubscribe/{queue}/{id}", admin, (*call).unsubscribe},

		{"POST", "/v1/webhooks/endpoints", webhooks, (*call).createEndpoint},
		{"GET", "/v1/webhooks/endpoints?tenant&cursor&limit", look, (*call).listEndpoints},
		{"GET", "/v1/webhooks/endpoints/{id}", look, (*call).getEndpoint},
		{"PATCH", "/v1/webhooks/endpoints/{id}", webhooks, (*call).updateEndpoint},
		{"DELETE", "/v1/webhooks/endpoints/{id}", webhooks, (*call).deleteEndpoint},
		{"POST", "/v1/webhooks/endpoints/{id}/rotate_secret", webhooks, (*call).rotateSecret},
		{"POST", "/v1/webhooks/endpoints/{id}/enable", webhooks, (*call).enableEndpoint},
		{"POST", "/v1/webhooks/endpoints/{id}/disable", webhooks, (*call).disableEndpoint},
		{"POST", "/v1/webhooks/endpoints/{id}/test", webhooks, (*call).testEndpoint},

		{"POST", "/v1/webhooks/events", webhooks, (*call).sendEvent},
		{"GET", "/v1/webhooks/events?event_type&event_id&tenant&subject&from&to&cursor&limit", look, (*call).listEvents},
		{"GET", "/v1/webhooks/events/{id}", look, (*call).getEvent},
		{"GET", "/v1/webhooks/deliveries?state&endpoint_id&event_type&event_id&tenant&subject&from&to&cursor&limit", look, (*call).listDeliveries},
		{"GET", "/v1/webhooks/deliveries/{id}", look, (*call).getDelivery},
		{"POST", "/v1/webhooks/deliveries/{id}/resend", webhooks, (*call).resendDelivery},
		{"POST", "/v1/webhooks/deliveries/{id}/resolve", webhooks, (*call).resolveDelivery},
		{"POST", "/v1/webhooks/deliveries/{id}/cancel", webhooks, (*call).cancelDelivery},
		{"POST", "/v1/webhooks/redrive", webhooks, (*call).redriveDeliveries},

		{"POST", "/v1/ledger/claim", consume, (*call).claimKey},
		{"POST", "/v1/ledger/begin", consume, (*call).beginKey},
		{"POST", "/v1/ledger/complete", consume, (*call).completeKey},
		{"POST", "/v1/ledger/fail", consume, (*call).failKey},
		{"POST", "/v1/ledger/resolve", admin, (*call).resolveKey},
		{"GET", "/v1/ledger/claims?scope&key&state&cursor&limit", read, (*call).claims},

		{"POST", "/v1/projects", root, (*call).createProject},
		{"GET", "/v1/projects?cursor&limit", root, (*call).listProjects},
		{"PATCH", "/v1/projects/{id}", root, (*call).limitProject},
		{"POST", "/v1/keys", admin, (*call).createKey},
		{"GET", "/v1/keys?project_id&cursor&limit", admin, (*call).listKeys},
		{"DELETE", "/v1/keys/{id}", admin, (*call).revokeKey},
		{"GET", "/v1/account/balance", read, (*call).balance},
		{"GET", "/v1/account/usage?cursor&limit", read, (*call).usage},
	}
}

// Routes are the calls of the contract, each as "METHOD /path?parameter&parameter": for who must have something for every one.
func Routes() []string {
	var all []string
	for _, rt := range routes() {
		all = append(all, rt.method+" "+rt.path)
	}
	return all
}

// register makes the routes, and for each path an answer to the methods that it does not have.
func (s *server) register(routes []route) {
	methods := map[string][]string{}
	for _, rt := range routes {
		path, parameters := rt.split()
		rt.path = path
		if serve := rt.serve; len(rt.scopes) > 0 {
			rt.serve = func(c *call) (any, error) {
				if err := c.readQuery(parameters); err != nil {
					return nil, err
				}
				return serve(c)
			}
		}
		s.mux.HandleFunc(rt.method+" "+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
		methods[path] = append(methods[path], rt.method)
		if rt.method == "GET" {
			methods[path] = append(methods[path], "HEAD")
		}
	}
	for p, m := range methods {
		slices.Sort(m)
		allow := strings.Join(m, ", ")
		s.mux.HandleFunc(p, func(w http.ResponseWriter, r *http.Request) {
			s.serve(w, r, route{path: p, serve: func(c *call) (any, error) {
				c.w.Header().Set("Allow", allow)
				return nil, fault.New(fault.MethodNotAllowed, "%s does not take %s; it takes %s", p, fault.Quote(c.r.Method), allow)
			}})
		})
	}
	s.mux.HandleFunc("/", s.notFound)
}

func (s *server) notFound(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, route{path: "other", serve: func(c *call) (any, error) {
		return nil, fault.New(fault.NotFound, "there is nothing at %s", fault.Quote(c.path())).WithHint("the contract, docs/http-api.md, has the paths; some are of a later version")
	}})
}

// ServeHTTP answers any request. A path that is not in its clean form is none of ours: the mux would redirect it, and a
// client that follows turns a POST into a GET.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isBare(r.URL.Path) {
		w, r = bare{w}, withoutPrefix(r)
	}
	if err := refusal(w, r); err != nil {
		s.serve(w, r, route{path: "other", serve: func(*call) (any, error) { return nil, err }})
		return
	}
	if p := r.URL.Path; p != "/" && path.Clean(p) != p {
		s.notFound(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

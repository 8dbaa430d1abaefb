package api

import "github.com/onceward/onceward/internal/fault"

var pageOperations = map[string]operation{
	"GET /openapi.json":      {id: "pages.openapi", says: "This document.", kind: jsonKind, answer: map[string]any{}},
	"GET /docs":              {id: "pages.docs", says: "The same as a page for people.", kind: "text/html", answer: ""},
	"GET /llms.txt":          {id: "pages.llms", says: "The same in short, a line a call.", kind: "text/plain", answer: ""},
	"GET /v1/discovery":      {id: "discovery.list", says: "Lists the calls as capabilities, with their schemas and prices.", kind: jsonKind, answer: discovered{}},
	"GET /v1/discovery/{id}": {id: "discovery.get", says: "Shows a capability.", kind: jsonKind, answer: capability{}},
}

var accessOperations = map[string]operation{
	"POST /v1/projects": {
		id: "projects.create", keyed: true, says: "Makes a project: a world of its own.",
		body: projectRequest{}, wants: "name", example: `{"name":"shop","credit_limit_usd":20}`, answer: projectView{}, errors: []fault.Code{fault.Conflict},
	},
	"GET /v1/projects": {id: "projects.list", says: "Lists the projects, the newest first.", answer: list[projectView]{}},
	"PATCH /v1/projects/{id}": {
		id: "projects.update", says: "Gives a project another credit limit, or none.",
		body: limitRequest{}, wants: "credit_limit_usd", example: `{"credit_limit_usd":50}`, answer: projectView{},
	},
	"GET /v1/account/balance": {id: "account.balance", says: "Shows what the project has spent, and what it may still.", answer: balanceView{}, errors: []fault.Code{fault.NotFound}},
	"GET /v1/account/usage":   {id: "account.usage", says: "Lists the days on which the project was charged, the newest first, with how much for what.", answer: list[usageView]{}},
	"POST /v1/keys": {
		id: "keys.create", keyed: true, says: "Makes a key. It is shown this once.",
		body: keyRequest{}, wants: "scopes", example: `{"name":"the worker's","scopes":["consume"]}`, answer: keySecret{}, errors: []fault.Code{fault.NotFound},
	},
	"GET /v1/keys":         {id: "keys.list", says: "Lists the keys of a project, the newest first.", answer: list[keyView]{}, errors: []fault.Code{fault.NotFound}},
	"DELETE /v1/keys/{id}": {id: "keys.revoke", says: "Revokes a key for good.", answer: deleted{}},
}

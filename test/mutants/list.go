package main

import "slices"

// mutants are the guards, each with its test. The text of an edit stands in its file word for word, so that it says what the guard
// is; a test in make test fails once it no longer does.
//
// A guard that is held more than once (by a rule and by SQL, say) is taken out wherever it is held: else its mutant would show the second
// one alone.
var mutants = slices.Concat(ofKeys, ofDoor, ofMessages, ofGroups, ofFIFO, ofCallers, ofAccounts, ofProjects, ofTransactions, ofLinks, ofWebhooks, ofActs, ofRequests, ofEdges, ofHistory)

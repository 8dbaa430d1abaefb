package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// list is a page of a list. It is asked for until --limit or the end.
type list struct {
	Items []object `json:"items"`
	Next  *string  `json:"next_cursor"`
}

const mostPerPage = 500

// pager asks for a list page by page.
type pager struct {
	looker
	Limit int `default:"50" help:"Most rows to print."`
}

// lister is what the list commands have in common.
type lister struct {
	pager
	Quiet bool `short:"q" help:"Print the first column alone, a line each: for another command."`
}

// show prints the list at path, by the columns named.
func (l *lister) show(ctx context.Context, out output, path string, columns ...string) error {
	if l.Quiet && l.JSON {
		return usage("--quiet and --json are two ways to print: choose one")
	}
	return l.look(ctx, out, func(out output) (bool, error) {
		items, err := l.collect(ctx, path)
		if err != nil {
			return false, err
		}
		if !l.Quiet {
			return false, l.rows(out, items, columns...)
		}
		for _, o := range items {
			fmt.Fprintln(out, line(o[columns[0]]))
		}
		return false, nil
	})
}

// collect asks for pages until there are --limit rows or no more.
func (l *pager) collect(ctx context.Context, path string) ([]object, error) {
	if l.Limit < 1 {
		return nil, usage("--limit is %d; it must be at least 1", l.Limit)
	}
	items, cursor := []object{}, ""
	for {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		page := path + sep + "limit=" + strconv.Itoa(min(l.Limit-len(items), mostPerPage))
		if cursor != "" {
			page += "&cursor=" + cursor
		}
		var got list
		if _, err := l.call(ctx, "GET", page, nil, &got); err != nil {
			return nil, err
		}
		items = append(items, got.Items...)
		if got.Next == nil || len(items) >= l.Limit {
			return items, nil
		}
		cursor = *got.Next
	}
}

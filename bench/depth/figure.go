package main

import (
	"encoding/json/v2"
	"fmt"
	"io"
	"slices"
)

// figure is one that was measured.
type figure struct {
	Case  string   `json:"case"`
	Store string   `json:"store"`
	What  string   `json:"what"`
	Unit  string   `json:"unit"`
	Rows  int      `json:"rows"`            // that were there
	Value float64  `json:"value"`           //
	Base  *float64 `json:"base,omitzero"`   // the same without the depth
	Limit *float64 `json:"limit,omitzero"`  // what the value should not be above
	OK    *bool    `json:"within,omitzero"` // whether it is not
}

// printer gives what writes figures to out, a line each.
func printer(out io.Writer) func(figure) {
	return func(f figure) {
		b, err := json.Marshal(f)
		if err != nil {
			panic(err) // a number that is none
		}
		fmt.Fprintf(out, "%s\n", b)
	}
}

// within gives a figure its mark.
func (f figure) within(limit float64) figure {
	ok := f.Value <= limit
	f.Limit, f.OK = &limit, &ok
	return f
}

// than gives a figure what it is compared with.
func (f figure) than(base float64) figure {
	f.Base = &base
	return f
}

// median of some figures.
func median(l []float64) float64 {
	l = slices.Sorted(slices.Values(l))
	return l[len(l)/2]
}

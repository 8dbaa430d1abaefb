package verify

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table prints a report for people.
func (r Report) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CASE\tSTORE\tRUNS\tREQUESTS\tREPEATED\tEFFECTS\tLOST\tDOUBLED\tUNFINISHED\tFAILED\tSECONDS\t")
	cells := 0
	for _, x := range r.Rows {
		if x.Expected != "" {
			cells++
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t%s\n", x.Case, x.Store, x.Times, x.Requests, x.Repeated, x.Effects,
			x.Lost, x.Doubled, x.Unfinished, x.Failed, x.Seconds, x.state())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if cells > 0 {
		fmt.Fprintln(out, "\nThe matrix: where a server stopped, and what followed.")
		fmt.Fprintln(w, "POINT\tSTORE\tRUNS\tEXPECTED\tSEEN\t")
		for _, x := range r.Rows {
			if x.Expected != "" {
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", x.Case, x.Store, x.Times, x.Expected, x.Seen, x.state())
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, x := range r.Rows {
		for _, why := range x.Reasons {
			fmt.Fprintf(out, "%s on %s, %s\n", x.Case, x.Store, why)
		}
	}
	_, err := fmt.Fprintf(out, "seed %d\n", r.Seed)
	return err
}

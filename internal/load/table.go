package load

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table prints rows for people.
func Table(out io.Writer, rows []Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "CASE\tSTORE\tASKED/S\tJOBS\tFAILED\tPER SECOND\tP50 MS\tP99\tP99.9\tMAX\tCPU-S/10K\tCLIENT\tSERVER\tDATABASE\tBYTES/JOB\tMIB\tOTHERS\t")
	for _, r := range rows {
		asked := "most"
		if r.Rate > 0 {
			asked = fmt.Sprintf("%.0f", r.Rate)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t", r.Case, r.Store, asked, r.Jobs, r.Failed, r.PerSecond, r.P50, r.P99, r.P999, r.Most)
		if c := r.Cost; c != nil {
			fmt.Fprintf(w, "%.2f\t%.2f\t%.2f\t%s\t%s\t%.0f\t%.0f %%\t", c.CPU, c.Client, c.Server, maybe(c.Database, "%.2f"), maybe(c.Written, "%.0f"), c.Memory, 100*c.Others)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func maybe(f *float64, format string) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf(format, *f)
}

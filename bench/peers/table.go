package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// print shows, of the rounds that count, the median with the least and the most, and the rate as a share of the first peer's.
func print(out io.Writer, s settings, who []peer, cases []string, all []figure) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range cases {
		fmt.Fprintf(w, "%s\tROUNDS\tPER SECOND\t\tOF %s\tCPU-S/10K\t\tP50 MS\tP99 MS\t\n", c, who[0].name)
		var first float64
		for _, p := range who {
			var rate, cpu, p50, p99 []float64
			left := 0
			for _, f := range all {
				switch {
				case f.Peer != p.name || f.Case != c:
				case f.Others > s.quiet:
					left++
				default:
					rate, cpu, p50, p99 = append(rate, f.Rate), append(cpu, f.CPU), append(p50, f.P50), append(p99, f.P99)
				}
			}
			if len(rate) == 0 {
				if left > 0 {
					fmt.Fprintf(w, "%s\t0 of %d: the machine was not idle\t\n", p.name, left)
				}
				continue
			}
			r := median(rate)
			if first == 0 {
				first = r
			}
			fmt.Fprintf(w, "%s\t%d of %d\t%.0f\t%.0f–%.0f\t%.2f\t%.2f\t%.2f–%.2f\t%.2f\t%.2f\t%s\n", p.name, len(rate), len(rate)+left, r, slices.Min(rate), slices.Max(rate), r/first,
				median(cpu), slices.Min(cpu), slices.Max(cpu), median(p50), median(p99), p.about)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func median(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

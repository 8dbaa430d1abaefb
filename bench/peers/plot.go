package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// bar is a value with its spread.
type bar struct {
	name string
	ours bool
	value, least, most,
	tail float64 // of a latency: p99.9; value is its p50, most its p99
}

// panel is a heading and its bars.
type panel struct {
	title string
	bars  []bar
}

const (
	plotWidth, labelWidth, rightWidth = 820, 190, 110
	rowHeight, headHeight             = 20, 34
	oursColor, theirsColor            = "#0b62a8", "#9aa5b1"
)

// drawing is an SVG that is being written.
type drawing struct {
	strings.Builder
	y int
}

func (d *drawing) words(x float64, y int, anchor, class, s string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%d" text-anchor="%s" class="%s">%s</text>`+"\n", x, y, anchor, class, html.EscapeString(s))
}

func (d *drawing) rule(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(d, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

// svg puts a drawing on white.
func (d *drawing) svg(about string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>%s</title>
<style>text{font:12px sans-serif;fill:#222}.head{font-weight:bold;font-size:13px}.us{font-weight:bold}.small{font-size:11px;fill:#555}.grid{stroke:#e3e6ea}.span{stroke:#222;stroke-width:1.2}.line{stroke-width:3}</style>
<rect width="%d" height="%d" fill="white"/>
%s</svg>
`, plotWidth, d.y+14, plotWidth, d.y+14, html.EscapeString(about), plotWidth, d.y+14, d.String())
}

func color(ours bool) (fill, class string) {
	if ours {
		return oursColor, "us"
	}
	return theirsColor, ""
}

// plotBars draws panels of bars, each on a scale of its own from nothing on; the thin line is from the least to the most of the rounds.
func plotBars(about string, panels []panel) string {
	d := &drawing{y: 6}
	for _, p := range panels {
		if len(p.bars) == 0 {
			continue
		}
		top := 0.0
		for _, b := range p.bars {
			top = max(top, b.most)
		}
		x := func(v float64) float64 { return labelWidth + v/top*(plotWidth-labelWidth-rightWidth) }
		d.y += headHeight
		d.words(8, d.y-10, "start", "head", p.title)
		for _, b := range p.bars {
			fill, class := color(b.ours)
			middle := float64(d.y) + rowHeight/2
			d.words(labelWidth-8, d.y+14, "end", class, b.name)
			fmt.Fprintf(d, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, d.y+3, x(b.value)-labelWidth, rowHeight-6, fill)
			if b.most > b.least {
				d.rule(x(b.least), middle, x(b.most), middle, "span")
			}
			d.words(x(b.most)+6, d.y+14, "start", class, digits(b.value))
			d.y += rowHeight
		}
	}
	return d.svg(about)
}

// plotLatencies draws, on one logarithmic scale, a line from each one's p50 over its p99 to its p99.9.
func plotLatencies(about string, panels []panel) string {
	least, most := math.Inf(1), 0.0
	for _, p := range panels {
		for _, b := range p.bars {
			least, most = min(least, b.value), max(most, b.tail)
		}
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	x := func(v float64) float64 {
		return labelWidth + (math.Log10(v)-low)/(high-low)*(plotWidth-labelWidth-rightWidth)
	}
	d := &drawing{y: 6}
	for _, p := range panels {
		if len(p.bars) == 0 {
			continue
		}
		d.y += headHeight + 14
		d.words(8, d.y-24, "start", "head", p.title)
		for e := low; e <= high; e++ {
			v := math.Pow(10, e)
			d.rule(x(v), float64(d.y), x(v), float64(d.y+rowHeight*len(p.bars)), "grid")
			d.words(x(v), d.y-6, "middle", "small", fmt.Sprintf("%g ms", v))
		}
		for _, b := range p.bars {
			fill, class := color(b.ours)
			middle := float64(d.y) + rowHeight/2
			d.words(labelWidth-8, d.y+14, "end", class, b.name)
			fmt.Fprintf(d, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="line" stroke="%s"/>`+"\n", x(b.value), middle, x(b.tail), middle, fill)
			for i, v := range []float64{b.value, b.most, b.tail} {
				fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" stroke="%s" stroke-width="1.5"/>`+"\n", x(v), middle, 5-float64(i), []string{fill, "white", "white"}[i], fill)
			}
			d.words(x(b.tail)+8, d.y+14, "start", class, fmt.Sprintf("%s · %s · %s", digits(b.value), digits(b.most), digits(b.tail)))
			d.y += rowHeight
		}
	}
	return d.svg(about)
}

// plots are the drawings of the results, by their files' names.
func (r *results) plots() map[string]string {
	bars := func(title, what string, column func(figure) float64) panel {
		p := panel{title: title}
		for _, name := range r.shown(what) {
			if s := r.spread(name, what, column); s.rounds > 0 {
				p.bars = append(p.bars, bar{name, ours(name), s.median, s.least, s.most, 0})
			}
		}
		return p
	}
	spans := func(title, what string) panel {
		p := panel{title: title}
		for _, name := range r.shown(what) {
			if s := r.spread(name, what, p50); s.rounds > 0 {
				p.bars = append(p.bars, bar{name, ours(name), s.median, 0, r.spread(name, what, p99).median, r.spread(name, what, p999).median})
			}
		}
		return p
	}
	titles := map[string]string{
		"enqueue": "Enqueued one by one, 64 callers", "batch": "Enqueued in batches of 100", "work": "Worked off", "cycle": "Enqueued in batches and worked off at once", "deliver": "POSTs to a receiver",
	}
	var rates, costs []panel
	for _, what := range []string{"enqueue", "batch", "work", "cycle", "deliver"} {
		rates = append(rates, bars(titles[what]+", a second", what, rate))
		costs = append(costs, bars(titles[what]+", CPU-seconds for 10,000", what, cpu))
	}
	return map[string]string{
		"rates.svg": plotBars("Rates, a second", rates),
		"cpu.svg":   plotBars("CPU-seconds for 10,000 jobs, over all processes", costs),
		"latency.svg": plotLatencies("Latencies at 500 a second: p50, p99, p99.9", []panel{
			spans("From due to received, at 500 a second: p50 · p99 · p99.9 in ms", "start"), spans("From event to POST, at 500 a second: p50 · p99 · p99.9 in ms", "post"),
		}),
	}
}

func ours(name string) bool {
	return strings.HasPrefix(name, "onceward-") || strings.HasPrefix(name, inProcess)
}

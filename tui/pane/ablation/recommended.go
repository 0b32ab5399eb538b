package ablation

import (
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/recommend"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// What an ablation that has ended recommends.

// recommended writes what an ablation that has ended recommends between row y and end, the largest saving first,
// and returns the next free row. Values in force are left out: the table has what they save.
func (p *view) recommended(c *chart.Canvas, y, end int, a *profiles.Ablation) int {
	if a.Running || p.Snap == nil {
		return y
	}
	list := recommend.List(a, func(key, value string) []string {
		return p.Snap.Run.CautionsAbout(key, value, p.Snap.Settings)
	})
	w, _ := c.Size()
	began := y
	for i := range list {
		r := &list[i]
		if r.Done || y+1 >= end || y == began && y+2 >= end {
			break
		}
		if y == began {
			c.Text(2, y, chart.Cut("recommended, by what it saves at least", w-2), theme.Axis)
			y++
		}
		style := theme.Good
		if r.Saved.Value < 0 {
			style = theme.Plain
		}
		c.Text(2, y, string(r.Priority), style)
		c.Text(2+priorityColumns, y, chart.Cut(p.recommendation(r), w-2-priorityColumns), theme.Plain)
		y++
	}
	return y
}

// priorityColumns is the width of a priority with the space after it.
const priorityColumns = 8

// recommendation formats a recommendation with the setting's key.
func (p *view) recommendation(r *recommend.Recommendation) string {
	parts := []string{r.Action()}
	for _, verb := range []string{"switch ", "choose "} {
		if key := p.host.Keys().Of(profiles.Action(verb + r.Key)); key != "" {
			parts[0] += " (" + key + ")"
			break
		}
	}
	parts = append(parts, r.Gain())
	if r.Memory != nil && *r.Memory != 0 {
		parts = append(parts, "memory "+r.MemoryText())
	}
	if r.Requires != "nothing" {
		parts = append(parts, r.Requires)
	}
	if r.Caution != "" {
		parts = append(parts, r.Caution)
	}
	return strings.Join(parts, ", ")
}

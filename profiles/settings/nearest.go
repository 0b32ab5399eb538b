package settings

import (
	"slices"
	"strings"
)

// Closest lists up to three candidates within a few edits of name or with the
// same beginning, closest first.
func Closest(name string, candidates []string) []string {
	type match struct {
		name  string
		edits int
	}
	if len(name) > 64 {
		return nil
	}
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	var near []match
	for _, c := range candidates {
		plain := strings.ReplaceAll(c, "-", "_")
		edits := distance(name, plain)
		if len(name) >= 3 && (strings.Contains(plain, name) || 2*len(plain) > len(name) &&
			strings.Contains(name, plain)) {
			edits = min(edits, 1)
		}
		if edits <= max(1, min(len(name), len(plain))/3) {
			near = append(near, match{c, edits})
		}
	}
	slices.SortStableFunc(near, func(a, b match) int { return a.edits - b.edits })
	var names []string
	for _, m := range near[:min(3, len(near))] {
		names = append(names, m.name)
	}
	return names
}

// distance is the optimal string alignment distance of a and b: insertions,
// deletions, replacements and swaps of neighbours, one each.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

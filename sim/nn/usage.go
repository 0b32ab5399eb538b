package nn

// Memory by category: of the variables that a plan uses, and of its arena.

import "sort"

// Usage is memory in bytes by category.
type Usage [NumCategories]int64

// Total returns the memory of all categories.
func (u Usage) Total() (bytes int64) {
	for _, b := range u {
		bytes += b
	}
	return bytes
}

// VariableUsage returns the memory of variables by category, with all gradients
// stored.
func VariableUsage(variables []Variable) Usage {
	var u Usage
	for _, v := range variables {
		u[v.Category] += 4 * int64(v.Shape.Elements())
	}
	return u
}

// VariableUsage returns the memory of the variables with this plan loaded: gradients only
// if the plan stores them, everything else always.
func (p *Plan) VariableUsage(variables []Variable) Usage {
	u := VariableUsage(variables)
	u[Gradients] = 0
	counted := map[int]bool{}
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.Variable >= 0 && b.Category == Gradients && !counted[b.Variable] {
			counted[b.Variable] = true
			u[Gradients] += b.Stored()
		}
	}
	return u
}

// attribution orders the categories of the arena's buffers: memory shared by
// several buffers counts for the first of their categories in this list.
var attribution = [NumCategories]int{Inputs: 0, Weights: 1, Activations: 2, Moments: 3, Gradients: 4, Scratch: 5}

// ArenaUsage divides the plan's arena among the categories, every byte once:
// memory shared by an activation and a gradient counts as activations. The sum is
// ArenaBytes.
func (p *Plan) ArenaUsage() Usage {
	type edge struct {
		at       int64
		category Category
		change   int
	}
	var edges []edge
	for _, l := range p.lifetimes() {
		b := &p.Buffers[l.buffer]
		edges = append(edges, edge{b.Offset, b.Category, 1}, edge{b.Offset + l.bytes, b.Category, -1})
	}
	sort.Slice(edges, func(i, j int) bool { return edges[i].at < edges[j].at })
	var u Usage
	var covering [NumCategories]int
	for i, e := range edges {
		covering[e.category] += e.change
		if i+1 == len(edges) || edges[i+1].at == e.at {
			continue
		}
		owner := Scratch
		for c := range NumCategories {
			if covering[c] > 0 && attribution[c] < attribution[owner] {
				owner = c
			}
		}
		u[owner] += edges[i+1].at - e.at
	}
	return u
}

package nn

import "slices"

// fused returns the graph's nodes with every ReLU fused into the batch normalisation or
// convolution before it, and, with resized, every Upsample into the convolution after it and every
// MaxPool into the convolution before it. The value between them must have no other reader: no
// second node, no output name, and it must not end the forward segment.
func (g *Graph) fused(resized bool) []node {
	readers := make([]int, len(g.values))
	for _, n := range g.nodes {
		for _, v := range n.in {
			readers[v]++
		}
	}
	for _, o := range g.outputs {
		readers[o.value]++
	}
	if g.ended >= 0 {
		readers[g.ended]++
	}
	nodes := make([]node, 0, len(g.nodes))
	made := make(map[int]int, len(g.nodes)) // index of the node that computes a value
	for _, n := range g.nodes {
		if len(n.in) > 0 && readers[n.in[0]] == 1 {
			if i, ok := made[n.in[0]]; ok {
				if with := followed(nodes[i].op, n.op, resized); with != nil {
					nodes[i].op, nodes[i].out = with, n.out
					made[n.out] = i
					continue
				}
				if with := preceded(nodes[i].op, n.op); with != nil && resized {
					n.op, n.in = with, append([]int{nodes[i].in[0]}, n.in[1:]...)
					nodes[i].op = nil
				}
			}
		}
		made[n.out] = len(nodes)
		nodes = append(nodes, n)
	}
	return slices.DeleteFunc(nodes, func(n node) bool { return n.op == nil })
}

// followed returns an operator followed by another, or nil if there is none.
func followed(op, by operator, resized bool) operator {
	switch by := by.(type) {
	case Activation:
		if by.Kind == ReLU {
			return rectified(op)
		}
	case MaxPool:
		if op, ok := op.(Conv2D); ok && resized && !op.Up && !op.Pool {
			op.Pool = true
			return op
		}
	}
	return nil
}

// preceded returns an operator preceded by another, or nil if there is none.
func preceded(by, op operator) operator {
	if _, ok := by.(Upsample); !ok {
		return nil
	}
	if op, ok := op.(Conv2D); ok && !op.Up && op.Stride == 1 {
		op.Up = true
		return op
	}
	return nil
}

// rectified returns the operator followed by a ReLU, or nil if there is none.
func rectified(op operator) operator {
	switch op := op.(type) {
	case BatchNorm:
		if !op.ReLU {
			op.ReLU = true
			return op
		}
	case Conv2D:
		if !op.ReLU && !op.Pool {
			op.ReLU = true
			return op
		}
	case ConvTranspose2D:
		if !op.ReLU {
			op.ReLU = true
			return op
		}
	}
	return nil
}

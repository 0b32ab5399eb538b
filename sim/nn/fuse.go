package nn

// fused returns the graph's nodes with every ReLU fused into the batch
// normalisation or convolution before it. The value between them must have no other reader: no
// second node, no output name, and it must not end the forward segment.
func (g *Graph) fused() []node {
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
		if op, ok := n.op.(Activation); ok && op.Kind == ReLU && readers[n.in[0]] == 1 {
			if i, ok := made[n.in[0]]; ok {
				if with := rectified(nodes[i].op); with != nil {
					nodes[i].op, nodes[i].out = with, n.out
					made[n.out] = i
					continue
				}
			}
		}
		made[n.out] = len(nodes)
		nodes = append(nodes, n)
	}
	return nodes
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
		if !op.ReLU {
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

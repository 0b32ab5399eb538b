package winograd

import "prismtop/sim/cpu/vec"

// PairTilesIn transforms the inputs of tiles; see pairTilesIn.
func PairTilesIn(pairs vec.Pairs, v []float32, first, second []uint16, planes int, p *PairTiles, n int) {
	if pairs != vec.BF16 || n <= 0 {
		pairTilesIn(v, first, second, planes, p, n)
		return
	}
	step := n * p.Vectors() * Lanes
	_ = v[PairTilesPositions*step-1]
	checkPairTiles(first, planes, n, p.lastIn)
	checkPairTiles(second, planes, n, p.lastIn)
	kernel := pairTilesIn2BF16
	if p.runs == 4 {
		kernel = pairTilesIn4BF16
	}
	kernel(&v[0], step, &first[0], &second[0], planes, p.width, &p.entries[0], p.Vectors(), n)
}

// PairTilesMultiply multiplies transformed inputs and weights; see pairTilesMultiply.
func PairTilesMultiply(pairs vec.Pairs, m, v, u []float32, n, vectors int) {
	if pairs != vec.BF16 || n <= 0 {
		pairTilesMultiply(m, v, u, n, vectors)
		return
	}
	const positions = PairTilesPositions
	_, _, _ = m[positions*PairTilesRows*vectors*Lanes-1], v[positions*n*vectors*Lanes-1], u[positions*n*PairTilesRows-1]
	kernel := [...]func(m, v, u *float32, pairs, positions int){pairTilesMultiply1BF16, pairTilesMultiply2BF16,
		pairTilesMultiply3BF16}[vectors-1]
	kernel(&m[0], &v[0], &u[0], n, positions)
}

// PairTilesOut transforms products back and stores them; see pairTilesOut.
func PairTilesOut(pairs vec.Pairs, y []uint16, plane int, m []float32, p *PairTiles, bias []float32, relu,
	pooled bool) {
	if pairs != vec.BF16 {
		pairTilesOut(y, plane, m, p, bias, relu, pooled)
		return
	}
	_, _ = m[PairTilesPositions*PairTilesRows*p.Vectors()*Lanes-1], bias[PairTilesRows-1]
	rectify := 0
	if relu {
		rectify = 1
	}
	if pooled { // of two runs
		checkPairTiles(y, plane, PairTilesRows, p.lastOut)
		pairTilesPool2BF16(&y[0], plane, p.width, &m[0], &p.entries[0], p.Vectors(), &bias[0], rectify)
		return
	}
	checkPairTiles(y, plane, PairTilesRows, p.lastOut)
	kernel := pairTilesOut2BF16
	if p.runs == 4 {
		kernel = pairTilesOut4BF16
	}
	kernel(&y[0], plane, p.width, &m[0], &p.entries[0], p.Vectors(), &bias[0], rectify)
}

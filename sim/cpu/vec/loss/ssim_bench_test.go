package loss

import (
	"testing"

	"prismtop/sim/cpu/vec"
)

// BenchmarkSSIM times the kernels of one tile, or of as many columns, in cache.
func BenchmarkSSIM(b *testing.B) {
	const n, step = 64, (64 + WindowTaps - 1) * TileSide
	x, y := make([]float32, 4*step), make([]float32, 4*step)
	for i := range x {
		x[i] = float32(i%7) / 7
	}
	var rows [TileReach]int32
	for i := range rows {
		rows[i] = int32(i * TileSide)
	}
	var sums [TileSide]float32
	for _, s := range vec.Available() {
		for name, run := range map[string]func(){
			"products":     func() { SSIMProducts(s, y, x, x[step:], &rows) },
			"blur turn":    func() { BlurTurn(s, y, TileSide*TileSide, x, step, 4, &testWindow) },
			"score":        func() { SSIMScore(s, y, step, x, step, TileSide, &testWindow, &sums) },
			"blur combine": func() { BlurCombine(s, y, TileSide, x, x, x, step, &testWindow, 1) },
		} {
			b.Run(s.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					run()
				}
			})
		}
	}
}

package vec

import "testing"

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
	for _, s := range Available() {
		for name, run := range map[string]func(){
			"products":     func() { s.SSIMProducts(y, x, x[step:], &rows) },
			"blur turn":    func() { s.BlurTurn(y, TileSide*TileSide, x, step, 4, &testWindow) },
			"score":        func() { s.SSIMScore(y, step, x, step, TileSide, &testWindow, &sums) },
			"blur combine": func() { s.BlurCombine(y, TileSide, x, x, x, step, &testWindow, 1) },
		} {
			b.Run(s.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					run()
				}
			})
		}
	}
}

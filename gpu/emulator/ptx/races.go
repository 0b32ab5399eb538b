package ptx

type races struct{ block *block }

func newRaces(b *block) *races { return &races{b} }

func (r *races) reset() {}

func (r *races) access(w *warp, o *op, l int, address uint64, n int, write, async bool) bool {
	return true
}

package cpu

import "prismtop/sim/cpu/vec"

// UsePlainTiles gives a backend tile products in plain Go in AMX's place, for
// products of work multiplications and more.
func (b *Backend) UsePlainTiles(work int) { b.tiles, b.tileWork = vec.PlainTiles, work }

// UseNoTiles takes tile products from a backend.
func (b *Backend) UseNoTiles() { b.tiles = vec.NoTiles }

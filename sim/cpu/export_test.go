package cpu

import "prismtop/sim/cpu/vec"

// UsePlainTiles makes a backend use tile products in plain Go instead of AMX, for
// products of work multiplications and more.
func (b *Backend) UsePlainTiles(work int) { b.tiles, b.tileWork = vec.PlainTiles, work }

// UseNoTiles disables tile products of a backend.
func (b *Backend) UseNoTiles() { b.tiles = vec.NoTiles }

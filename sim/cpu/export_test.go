package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/matrix"
)

// UsePlainTiles makes a backend use products of tiles, and of pairs, in plain Go instead of AMX, for
// split operands those of work multiplications and more.
func (b *Backend) UsePlainTiles(work int) {
	b.tiles, b.tileWork, b.pairs = matrix.PlainTiles, work, vec.PlainPairs
}

// UseNoTiles disables tile products of a backend.
func (b *Backend) UseNoTiles() { b.tiles = matrix.NoTiles }

// UsePlainPairs makes a backend multiply pairs of bfloat16 in plain Go.
func (b *Backend) UsePlainPairs() { b.tiles, b.pairs = matrix.NoTiles, vec.PlainPairs }

// UseNoPairs disables products of pairs.
func (b *Backend) UseNoPairs() { b.pairs = vec.NoPairs }

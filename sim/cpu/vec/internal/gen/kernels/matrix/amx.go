package matrix

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Neither Go's assembler nor avo knows AMX, so its instructions are written as
// bytes: a VEX prefix of three bytes for the map 0F38, an opcode, ModRM, and for
// memory SIB and a displacement.

// Mandatory prefixes as the VEX prefix encodes them.
const (
	prefixNone = iota
	prefix66
	prefixF3
	prefixF2
)

// vex is the prefix: the high bits of ModRM's reg, SIB's index and the base or rm
// register, the second source, and the mandatory prefix.
func vex(index, base, source, prefix int) []byte {
	return []byte{0xc4, 0xe2 &^ byte(index>>3<<6) &^ byte(base>>3<<5), byte(^source&15<<3) | byte(prefix)}
}

// memory encodes an operand: ModRM with a register field, SIB where there is an
// index or the base asks for one, and the shortest displacement.
func memory(field, base, index, displacement int) []byte {
	size := 4
	switch {
	case displacement == 0 && base&7 != 5:
		size = 0
	case displacement >= -128 && displacement <= 127:
		size = 1
	}
	mode := map[int]byte{0: 0, 1: 0x40, 4: 0x80}[size]
	const none = 4 // SIB without an index
	var code []byte
	switch {
	case index >= 0:
		code = []byte{mode | byte(field<<3) | 4, byte(index&7<<3) | byte(base&7)}
	case base&7 == none:
		code = []byte{mode | byte(field<<3) | 4, none<<3 | byte(base&7)}
	default:
		code = []byte{mode | byte(field<<3) | byte(base&7)}
	}
	for i := range size {
		code = append(code, byte(displacement>>(8*i)))
	}
	return code
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// number is a general register's number in encodings.
func number(r reg.Physical) int { return int(r.PhysicalIndex()) }

// ldtilecfg reads the 64 bytes of the tiles' shapes.
func ldtilecfg(base reg.Physical, displacement int) []byte {
	b := number(base)
	return join(vex(0, b, 0, prefixNone), []byte{0x49}, memory(0, b, -1, displacement))
}

// tilerelease releases the tiles.
func tilerelease() []byte { return append(vex(0, 0, 0, prefixNone), 0x49, 0xc0) }

// tilezero clears a tile.
func tilezero(tile int) []byte { return append(vex(0, 0, 0, prefixF2), 0x49, 0xc0|byte(tile<<3)) }

// tileload and tilestore move a tile's rows from and to base + row·stride.
func tileload(tile int, base, stride reg.Physical, displacement int) []byte {
	return tilemove(prefixF2, tile, base, stride, displacement)
}

func tilestore(tile int, base, stride reg.Physical, displacement int) []byte {
	return tilemove(prefixF3, tile, base, stride, displacement)
}

func tilemove(prefix, tile int, base, stride reg.Physical, displacement int) []byte {
	b, i := number(base), number(stride)
	return join(vex(i, b, 0, prefix), []byte{0x4b}, memory(tile, b, i, displacement))
}

// tdpbf16ps adds the product of tiles a (rows of pairs) and b (pairs by columns).
func tdpbf16ps(sum, a, b int) []byte {
	return append(vex(0, 0, b, prefixF3), 0x5c, 0xc0|byte(sum<<3|a))
}

// code writes an instruction into the kernel as BYTE directives, with a comment.
func (s *set) code(instruction []byte, format string, args ...any) {
	s.Comment(strings.TrimSpace(fmt.Sprintf(format, args...)))
	for _, b := range instruction {
		s.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
	}
}

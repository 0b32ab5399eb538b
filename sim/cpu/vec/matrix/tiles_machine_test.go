//go:build amd64 && !noasm

package matrix

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// A machine in software executes the very bytes of the tile products that are in this
// program, over memory whose bounds are checked, so that they are tried where no
// processor has AMX. It supports the instructions that occur and rejects others.

// region is memory that the machine may use.
type region struct {
	base  uint64
	bytes []byte
	write bool
}

func regionOf[T any](x []T, write bool) region {
	base := unsafe.Pointer(unsafe.SliceData(x))
	return region{uint64(uintptr(base)), unsafe.Slice((*byte)(base), len(x)*int(unsafe.Sizeof(x[0]))), write}
}

// tileRegister is a tile: up to 16 rows of 64 bytes.
type tileRegister [16][64]byte

type tileMachine struct {
	memory   []region
	code     region
	pc       uint64
	register [16]uint64
	zero     bool
	config   *[64]byte
	tiles    [8]tileRegister
	done     bool
	products int
}

const stackTop = 0x1000 // an address that no allocation has

func (m *tileMachine) at(address uint64, n int, write bool) []byte {
	for _, r := range m.memory {
		if address >= r.base && address+uint64(n) <= r.base+uint64(len(r.bytes)) && (r.write || !write) {
			return r.bytes[address-r.base:][:n]
		}
	}
	panic(fmt.Sprintf("%d bytes at %#x are out of bounds", n, address))
}

func (m *tileMachine) word(address uint64) uint64 {
	return binary.LittleEndian.Uint64(m.at(address, 8, false))
}

// next reads n bytes of code as a signed number.
func (m *tileMachine) next(n int) int64 {
	b := m.code.bytes[m.pc-m.code.base:][:n]
	m.pc += uint64(n)
	switch n {
	case 1:
		return int64(int8(b[0]))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	panic("no such size")
}

func (m *tileMachine) byte() byte { return byte(m.next(1)) }

// operand is a decoded ModRM: a register, or an address and for tile moves the
// base and index apart.
type machineOperand struct {
	field, register int
	memory          bool
	base, index     uint64
	scale           uint64
}

func (o machineOperand) address() uint64 { return o.base + o.scale*o.index }

func (m *tileMachine) operand(r, x, b int) machineOperand {
	modrm := m.byte()
	o := machineOperand{field: int(modrm>>3&7) | r<<3, register: int(modrm&7) | b<<3}
	mode := modrm >> 6
	if mode == 3 {
		return o
	}
	o.memory, o.scale = true, 1
	base := o.register
	if modrm&7 == 4 {
		sib := m.byte()
		base, o.scale = int(sib&7)|b<<3, 1<<(sib>>6)
		if index := int(sib>>3&7) | x<<3; index != 4 {
			o.index = m.register[index]
		}
	}
	if mode == 0 && base&7 == 5 {
		panic("an address without a base")
	}
	o.base = m.register[base]
	switch mode {
	case 1:
		o.base += uint64(m.next(1))
	case 2:
		o.base += uint64(m.next(4))
	}
	return o
}

func (m *tileMachine) value(o machineOperand) uint64 {
	if o.memory {
		return m.word(o.address())
	}
	return m.register[o.register]
}

// set stores a result and the flag that jumps ask for.
func (m *tileMachine) set(register int, v uint64) { m.register[register], m.zero = v, v == 0 }

// step executes an instruction.
func (m *tileMachine) step() {
	op, rex := m.byte(), byte(0)
	if op&0xf0 == 0x40 {
		rex, op = op, m.byte()
	}
	r, x, b := int(rex>>2&1), int(rex>>1&1), int(rex&1)
	switch op {
	case 0xc4:
		m.vector()
		return
	case 0xc3:
		m.done = true
		return
	case 0xeb:
		m.jump(1, true)
		return
	case 0xe9:
		m.jump(4, true)
		return
	case 0x74, 0x75:
		m.jump(1, m.zero == (op == 0x74))
		return
	case 0x0f:
		if op = m.byte(); op != 0x84 && op != 0x85 {
			panic(fmt.Sprintf("instruction 0f %x", op))
		}
		m.jump(4, m.zero == (op == 0x84))
		return
	}
	if rex&8 == 0 {
		panic(fmt.Sprintf("instruction %x of 32 bits", op))
	}
	o := m.operand(r, x, b)
	switch {
	case op == 0x8b:
		m.register[o.field] = m.value(o)
	case op == 0x89 && !o.memory:
		m.register[o.register] = m.register[o.field]
	case op == 0x63:
		m.register[o.field] = uint64(int64(int32(binary.LittleEndian.Uint32(m.at(o.address(), 4, false)))))
	case op == 0x8d && o.memory:
		m.register[o.field] = o.address()
	case op == 0x85 && !o.memory:
		m.zero = m.register[o.register]&m.register[o.field] == 0
	case op == 0x03:
		m.set(o.field, m.register[o.field]+m.value(o))
	case op == 0x2b:
		m.set(o.field, m.register[o.field]-m.value(o))
	case op == 0x01 && !o.memory:
		m.set(o.register, m.register[o.register]+m.register[o.field])
	case op == 0x83 && !o.memory && o.field&7 == 0:
		m.set(o.register, m.register[o.register]+uint64(m.next(1)))
	case op == 0xff && !o.memory && o.field&7 == 1:
		m.set(o.register, m.register[o.register]-1)
	default:
		panic(fmt.Sprintf("instruction %x /%d", op, o.field))
	}
}

func (m *tileMachine) jump(size int, taken bool) {
	distance := m.next(size)
	if taken {
		m.pc += uint64(distance)
	}
}

// vector executes AMX's instructions, all of VEX's map 0F38.
func (m *tileMachine) vector() {
	first, second, op := m.byte(), m.byte(), m.byte()
	if first&0x1f != 2 || second&0x84 != 0 { // map 2, W = 0, L = 0
		panic("no AMX instruction")
	}
	r, x, b := int(^first>>7&1), int(^first>>6&1), int(^first>>5&1)
	source, prefix := int(^second>>3&15), second&3
	o := m.operand(r, x, b)
	switch key := [2]byte{prefix, op}; {
	case key == [2]byte{0, 0x49} && o.memory:
		m.configure((*[64]byte)(m.at(o.address(), 64, false)))
	case key == [2]byte{0, 0x49} && o.field == 0 && o.register == 0:
		m.config, m.tiles = nil, [8]tileRegister{}
	case key == [2]byte{3, 0x49} && !o.memory && o.register == 0:
		m.shape(o.field)
		m.tiles[o.field] = tileRegister{}
	case key == [2]byte{3, 0x4b} && o.memory:
		rows, bytes := m.shape(o.field)
		m.tiles[o.field] = tileRegister{}
		for i := range rows {
			copy(m.tiles[o.field][i][:], m.at(o.base+uint64(i)*o.scale*o.index, bytes, false))
		}
	case key == [2]byte{2, 0x4b} && o.memory:
		rows, bytes := m.shape(o.field)
		for i := range rows {
			copy(m.at(o.base+uint64(i)*o.scale*o.index, bytes, true), m.tiles[o.field][i][:])
		}
	case key == [2]byte{2, 0x5c} && !o.memory:
		m.product(o.field, o.register, source)
	default:
		panic(fmt.Sprintf("AMX instruction %x with prefix %d", op, prefix))
	}
}

// configure is LDTILECFG of palette 1.
func (m *tileMachine) configure(c *[64]byte) {
	for i, v := range c[1:16] {
		if c[0] != 1 || v != 0 {
			panic(fmt.Sprintf("byte %d of the configuration is %d", i+1, v))
		}
	}
	for i := range 8 {
		if rows, bytes := c[48+i], binary.LittleEndian.Uint16(c[16+2*i:]); rows > 16 || bytes > 64 || (rows == 0) != (bytes == 0) {
			panic(fmt.Sprintf("tile %d has %d rows of %d bytes", i, rows, bytes))
		}
	}
	m.config, m.tiles = c, [8]tileRegister{}
}

func (m *tileMachine) shape(i int) (rows, bytes int) {
	if m.config == nil || i > 7 || m.config[48+i] == 0 {
		panic(fmt.Sprintf("tile %d is not configured", i))
	}
	return int(m.config[48+i]), int(binary.LittleEndian.Uint16(m.config[16+2*i:]))
}

// product is TDPBF16PS.
func (m *tileMachine) product(sum, a, b int) {
	if sum == a || sum == b || a == b {
		panic("a product of a tile and itself")
	}
	rows, bytes := m.shape(sum)
	aRows, aBytes := m.shape(a)
	bRows, bBytes := m.shape(b)
	if rows != aRows || bytes != bBytes || aBytes != 4*bRows {
		panic("tiles' shapes do not fit")
	}
	m.products++
	pair := func(x []byte) (first, second float32) {
		return widenNormal(binary.LittleEndian.Uint16(x)), widenNormal(binary.LittleEndian.Uint16(x[2:]))
	}
	for i := range rows {
		for j := 0; j < bytes; j += 4 {
			var first, second float32
			for k := range bRows {
				a0, a1 := pair(m.tiles[a][i][4*k:])
				b0, b1 := pair(m.tiles[b][k][j:])
				first, second = normal(first+float32(a0*b0)), normal(second+float32(a1*b1))
			}
			at := m.tiles[sum][i][j:]
			v := normal(math.Float32frombits(binary.LittleEndian.Uint32(at)) + normal(first+second))
			binary.LittleEndian.PutUint32(at, math.Float32bits(v))
		}
	}
}

// tileCode is the machine code of a tile product. A Go function value leads to a
// wrapper that calls the assembly.
func tileCode(t *testing.T, function func(*int64), name string) region {
	t.Helper()
	wrapper := reflect.ValueOf(function).Pointer()
	code := func(pc uintptr, n int) []byte {
		return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&pc))), n)
	}
	isTiles := func(pc uintptr) bool {
		f := runtime.FuncForPC(pc)
		return f != nil && f.Entry() == pc && strings.HasSuffix(f.Name(), "."+name)
	}
	for i, op := range code(wrapper, 200) {
		target := wrapper + uintptr(i+5) + uintptr(int(int32(binary.LittleEndian.Uint32(code(wrapper+uintptr(i+1), 4)))))
		if op == 0xe8 && isTiles(target) {
			return region{base: uint64(target), bytes: code(target, 1024)}
		}
	}
	t.Fatalf("the wrapper of %s calls no assembly", name)
	return region{}
}

// execute runs the assembly on the machine.
func execute(t *testing.T, p *TileProduct) *tileMachine {
	t.Helper()
	call := p.call()
	structure := unsafe.Slice((*byte)(unsafe.Pointer(&call)), unsafe.Sizeof(call))
	m := &tileMachine{code: tileCode(t, tileProductAMX, "tileProductAMX")}
	if p.Wide {
		m.code = tileCode(t, tileProductWideAMX, "tileProductWideAMX")
	}
	stack := make([]byte, 16)
	binary.LittleEndian.PutUint64(stack[8:], uint64(uintptr(unsafe.Pointer(&call))))
	m.memory = []region{{stackTop, stack, false}, regionOf(structure, false), regionOf(tileConfigs[:], false),
		regionOf(p.Segments, false), regionOf(p.A, false), regionOf(p.B, false), regionOf(p.C, true)}
	for i := range m.register {
		m.register[i] = 0xdead0000dead0000 // nothing may be taken for granted
	}
	const sp = 4
	m.register[sp], m.pc = stackTop, m.code.base
	for steps := 0; !m.done; steps++ {
		if steps > 1e6 {
			t.Fatal("the assembly does not end")
		}
		m.step()
	}
	if m.config != nil {
		t.Error("the tiles were not given back")
	}
	if m.register[sp] != stackTop {
		t.Error("the stack moved")
	}
	runtime.KeepAlive(p)
	return m
}

func TestTileAssemblyIsPlainGos(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, groups := range []int{1, 2, 3} {
		for _, segments := range []int{1, 2, 7} {
			for _, form := range tileForms() {
				p := randomProduct(rng, groups, segments, form)
				q := *p
				q.C = slices.Clone(p.C)
				PlainTiles.Product(&q)
				m := execute(t, p)
				if want := 4 * groups * segments; m.products != want {
					t.Errorf("%d products of tiles, want %d", m.products, want)
				}
				for i := range q.C {
					if math.Float32bits(p.C[i]) != math.Float32bits(q.C[i]) {
						t.Fatalf("%d groups, %d segments: element %d is %v, plain Go has %v", groups, segments, i, p.C[i], q.C[i])
					}
				}
			}
		}
	}
	if !agrees(func(p *TileProduct) { execute(t, p) }) {
		t.Error("the test at start does not accept the assembly")
	}
}

// The machine's memory ends where the operands do.
func TestTileMachineSeesTheBounds(t *testing.T) {
	for what, shorten := range map[string]func(p *TileProduct){
		"a": func(p *TileProduct) { p.A = p.A[:len(p.A)-1] },
		"b": func(p *TileProduct) { p.B = p.B[:len(p.B)-1] },
		"c": func(p *TileProduct) { p.C = p.C[:len(p.C)-1] },
	} {
		t.Run(what, func(t *testing.T) {
			p := randomProduct(rand.New(rand.NewPCG(5, 6)), 2, 1, TileProduct{Accumulate: true})
			shorten(p)
			defer func() {
				if recover() == nil {
					t.Error("reading beyond the end was not seen")
				}
			}()
			execute(t, p)
		})
	}
}

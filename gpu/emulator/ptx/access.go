package ptx

import (
	"math/bits"
	"unsafe"

	"prismtop/gpu/emulator/memory"
)

// Loads and stores: addresses in the state spaces, checks of bounds and of unwritten memory, and vectors.

// Windows of the generic address space. Global memory is addressed as it is.
const (
	sharedWindow = 1 << 60
	localWindow  = 1 << 61
	paramWindow  = 1 << 62
	windowBytes  = 1 << 32
)

// States of a byte of shared memory.
const (
	unwritten = 0
	written   = 1
	pending   = 2    // a cp.async writes it that was not waited for
	guarded   = 0xff // between variables
)

// allWritten has the state of eight written bytes.
const allWritten = 0x0101010101010101

// addressOf returns the address that a lane accesses.
func (w *warp) addressOf(o *op, l int) uint64 {
	if o.save == wide {
		return w.wide[o.a][l] + o.value
	}
	return uint64(uint32(uint64(w.narrow[o.a][l]) + o.value))
}

// reach returns the bytes of an access of a lane after all checks, nil after a fault.
func (w *warp) reach(o *op, l int, s space, address uint64, n int, write bool) unsafe.Pointer {
	if address&uint64(n-1) != 0 {
		w.fail(Misaligned, o, l, "%d bytes at %#x", n, address)
		return nil
	}
	if s == generic {
		s = globalSpace
		switch {
		case address-sharedWindow < windowBytes:
			s, address = sharedSpace, address-sharedWindow
		case address-localWindow < windowBytes:
			s, address = localSpace, address-localWindow
		case address-paramWindow < windowBytes:
			s, address = paramSpace, address-paramWindow
		}
	}
	switch s {
	case sharedSpace:
		return w.reachShared(o, l, address, n, write)
	case localSpace:
		size := uint64(w.block.launch.Kernel.LocalBytes)
		if address >= size || uint64(n) > size-address {
			w.fail(OutOfBounds, o, l, "%d bytes at %d of local memory, which has %d bytes", n, address, size)
			return nil
		}
		return unsafe.Pointer(&w.local[uint64(l)*size+address])
	case paramSpace:
		p := w.block.launch.Param
		if address >= uint64(len(p)) || n > len(p)-int(address) || write {
			w.fail(OutOfBounds, o, l, "%d bytes at %d of the parameters, which have %d bytes", n, address, len(p))
			return nil
		}
		return unsafe.Pointer(&p[address])
	}
	return w.reachGlobal(o, l, address, n, write)
}

func (w *warp) reachGlobal(o *op, l int, address uint64, n int, write bool) unsafe.Pointer {
	b := w.block
	a := b.cache[o.index]
	if a == nil || address-a.Base >= a.Size {
		if a = memory.Find(b.live, address); a == nil {
			w.fail(OutOfBounds, o, l, "%d bytes at %#x of global memory: %s", n, address,
				b.launch.Memory.Describe(address))
			return nil
		}
		b.cache[o.index] = a
	}
	at := address - a.Base
	if uint64(n) > a.Size-at {
		w.fail(OutOfBounds, o, l, "%d bytes at %#x of global memory: %d bytes before the end of %v", n, address,
			a.Size-at, a)
		return nil
	}
	if write && a.ReadOnly {
		w.fail(OutOfBounds, o, l, "%d bytes at %#x: write into the constant %v", n, address, a)
		return nil
	}
	if a.Written != nil {
		shadow := unsafe.Pointer(&a.Written[at])
		if write {
			mark(shadow, n)
		} else if b.launch.Checks.Uninitialised && !isWritten(shadow, n) {
			w.fail(Uninitialised, o, l, "%d bytes at %#x of global memory: %s", n, address,
				b.launch.Memory.Describe(address))
			return nil
		}
	}
	p := unsafe.Pointer(&a.Data[at])
	if b.races != nil && !b.races.access(w, o, l, globalSpace, address, n, write) {
		return nil
	}
	return p
}

func (w *warp) reachShared(o *op, l int, address uint64, n int, write bool) unsafe.Pointer {
	b := w.block
	size := uint64(len(b.shared))
	if address >= size || uint64(n) > size-address {
		w.fail(OutOfBounds, o, l, "%d bytes at %d of shared memory, whose last variable ends at %d", n, address,
			b.sharedEnd)
		return nil
	}
	shadow := unsafe.Pointer(&b.states[address])
	if write {
		for i := range n {
			if b.states[address+uint64(i)] == guarded {
				w.fail(OutOfBounds, o, l, "%d bytes at %d of shared memory: %s", n, address, b.describeShared(address))
				return nil
			}
		}
		mark(shadow, n)
	} else if !isWritten(shadow, n) {
		for _, state := range b.states[address : address+uint64(n)] {
			switch {
			case state == guarded:
				w.fail(OutOfBounds, o, l, "%d bytes at %d of shared memory: %s", n, address, b.describeShared(address))
				return nil
			case state == pending:
				w.fail(Uninitialised, o, l, "%d bytes at %d of shared memory: its cp.async was not waited for", n,
					address)
				return nil
			case state == unwritten && b.launch.Checks.Uninitialised:
				w.fail(Uninitialised, o, l, "%d bytes at %d of shared memory", n, address)
				return nil
			}
		}
	}
	if b.races != nil && !b.races.access(w, o, l, sharedSpace, address, n, write) {
		return nil
	}
	return unsafe.Pointer(&b.shared[address])
}

// isWritten reports whether n bytes, a power of two up to 16, have the state written.
func isWritten(shadow unsafe.Pointer, n int) bool {
	switch n {
	case 1:
		return *(*uint8)(shadow) == written
	case 2:
		return *(*uint16)(shadow) == allWritten&0xffff
	case 4:
		return *(*uint32)(shadow) == allWritten&0xffffffff
	case 8:
		return *(*uint64)(shadow) == allWritten
	}
	return *(*[2]uint64)(shadow) == [2]uint64{allWritten, allWritten}
}

// mark gives n bytes the state written.
func mark(shadow unsafe.Pointer, n int) {
	switch n {
	case 1:
		*(*uint8)(shadow) = written
	case 2:
		*(*uint16)(shadow) = allWritten & 0xffff
	case 4:
		*(*uint32)(shadow) = allWritten & 0xffffffff
	case 8:
		*(*uint64)(shadow) = allWritten
	default:
		*(*[2]uint64)(shadow) = [2]uint64{allWritten, allWritten}
	}
}

// buildAccess reads what loads and stores share: modifiers, space, vector and type, and the address operand.
func (f *assembly) buildAccess(o *op, address operand) dtype {
	if f.one("volatile", "relaxed", "acquire", "release") != "" {
		o.strong = true
	}
	for f.take("nc", "weak", "cta", "gpu", "sys", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1", "L2") {
	}
	for i := 0; i < len(f.words); i++ { // hints for the caches
		if w := f.words[i]; len(w) > 4 && (w[:4] == "L1::" || w[:4] == "L2::") {
			f.words = append(f.words[:i:i], f.words[i+1:]...)
			i--
		}
	}
	f.space(o)
	o.vector = 1
	switch f.one("v2", "v4") {
	case "v2":
		o.vector = 2
	case "v4":
		o.vector = 4
	}
	t := f.dtype()
	if t.size == 0 || t.size*int(o.vector) > 16 {
		f.fail("an access of %d elements of .%s", o.vector, t.name)
	}
	o.kind, o.size, o.signed = masks, uint8(t.size), t.class == signed
	f.addressOperand(o, address)
	return t
}

// space reads the state space of an access, generic without one.
func (f *assembly) space(o *op) {
	for i, w := range f.words {
		name := w
		if name == "shared::cta" || name == "param::entry" {
			name = name[:len(name)-5]
			if w == "param::entry" {
				name = "param"
			}
		}
		if s, ok := spaces[name]; ok {
			o.space = s
			f.words = append(f.words[:i:i], f.words[i+1:]...)
			return
		}
	}
}

// addressOperand sets the base and the offset of an address: slot a of bank save, and value.
func (f *assembly) addressOperand(o *op, x operand) {
	if x.kind != addressOperand {
		f.fail("the operand is not an address")
	}
	o.value, o.save = x.value, wide
	switch {
	case len(x.list) == 0:
		o.a = f.constant(wide, constant{})
	case x.list[0].kind == registerOperand:
		if o.a, o.save = x.list[0].reg.slot, x.list[0].reg.bank; o.save == predicate {
			f.fail("a predicate as address")
		}
	default:
		o.a = f.constant(wide, f.address(x.list[0].name, x.list[0].value))
	}
}

// data returns the registers of a load or store. A register may be wider than the element.
func (f *assembly) data(i int, o *op, t dtype, write bool) {
	list := elements(f.args[i])
	if len(list) != int(o.vector) {
		f.fail("%d registers for %d elements", len(list), o.vector)
	}
	for _, x := range list {
		e := t
		if x.kind == registerOperand && x.reg.bank == wide && !write && t.size < 8 || x.kind == registerOperand &&
			x.reg.bank == wide && write {
			e = dtypes["b64"]
		}
		if write {
			o.list = append(o.list, register{e.bank(), f.write(x, e)})
		} else {
			o.list = append(o.list, register{e.bank(), f.read(x, e)})
		}
	}
}

// buildLoad makes ld.
func buildLoad(f *assembly, _ *instruction, o *op) {
	f.arguments(2)
	t := f.buildAccess(o, f.args[1])
	f.data(0, o, t, true)
	o.run = runLoad
}

// buildStore makes st.
func buildStore(f *assembly, _ *instruction, o *op) {
	f.arguments(2)
	t := f.buildAccess(o, f.args[0])
	f.data(1, o, t, false)
	o.run = runStore
}

func runLoad(w *warp, o *op) {
	n := int(o.size) * int(o.vector)
	near := w.near(o, n, false)
	for m := w.active; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := w.addressOf(o, l)
		var p unsafe.Pointer
		if at := address - near.base; at < near.bytes && address&uint64(n-1) == 0 &&
			isWritten(unsafe.Add(near.states, at), n) {
			p = unsafe.Add(near.data, at)
		} else if p = w.reach(o, l, o.space, address, n, false); p == nil {
			return
		}
		for i, r := range o.list {
			v := loadElement(unsafe.Add(p, i*int(o.size)), int(o.size))
			if o.signed {
				shift := 64 - 8*o.size
				v = uint64(int64(v<<shift) >> shift)
			}
			if r.bank == wide {
				w.wide[r.slot][l] = v
			} else {
				w.narrow[r.slot][l] = uint32(v)
			}
		}
	}
}

func runStore(w *warp, o *op) {
	size := int(o.size)
	n := size * int(o.vector)
	near := w.near(o, n, true)
	for m := w.active; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		address := w.addressOf(o, l)
		var p unsafe.Pointer
		if at := address - near.base; at < near.bytes && address&uint64(n-1) == 0 &&
			isWritten(unsafe.Add(near.states, at), n) {
			p = unsafe.Add(near.data, at)
		} else if p = w.reach(o, l, o.space, address, n, true); p == nil {
			return
		}
		if w.block.races != nil && w.block.races.doubt != nil {
			same := true
			for i, r := range o.list {
				same = same && loadElement(unsafe.Add(p, i*size), size) == w.get(r.bank, r.slot, l)&(1<<(8*size)-1)
			}
			if !w.block.races.settle(w, o, l, address, same) {
				return
			}
		}
		for i, r := range o.list {
			storeElement(unsafe.Add(p, i*size), size, w.get(r.bank, r.slot, l))
		}
	}
}

// region is memory that an op may access without further checks where all bytes have the state written.
type region struct {
	base, bytes  uint64 // bytes is the size less that of an access plus 1, 0 for none
	data, states unsafe.Pointer
}

// near returns the region that an op accesses most likely: shared memory, or the allocation that it accessed last.
func (w *warp) near(o *op, n int, write bool) region {
	b := w.block
	if b.races != nil && !o.strong {
		return region{}
	}
	if o.space == sharedSpace {
		if len(b.shared) < n {
			return region{}
		}
		return region{0, uint64(len(b.shared) - n + 1), unsafe.Pointer(&b.shared[0]), unsafe.Pointer(&b.states[0])}
	}
	a := b.cache[o.index]
	if a == nil || a.Written == nil || a.Size < uint64(n) || o.space != globalSpace && o.space != generic || write &&
		a.ReadOnly {
		return region{}
	}
	return region{a.Base, a.Size - uint64(n) + 1, unsafe.Pointer(&a.Data[0]), unsafe.Pointer(&a.Written[0])}
}

// loadElement reads a number of 1, 2, 4 or 8 bytes.
func loadElement(p unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func storeElement(p unsafe.Pointer, size int, v uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
}

// buildAddress makes cvta, which converts addresses between a space and the generic one.
func buildAddress(f *assembly, _ *instruction, o *op) {
	f.arguments(2)
	to := f.take("to")
	f.space(o)
	t := f.dtype()
	if t.size != 8 {
		f.fail("this form is not supported")
	}
	o.d, o.a, o.save = f.destination(0, t), f.source(1, t), wide
	window := map[space]uint64{sharedSpace: sharedWindow, localSpace: localWindow, paramSpace: paramWindow}[o.space]
	if to {
		window = -window
	}
	o.run = func(w *warp, o *op) {
		d, a := lanesOf[uint64](w, o.d), lanesOf[uint64](w, o.a)
		for l := range d {
			d[l] = a[l] + window
		}
	}
}

// buildSpaceTest makes isspacep.
func buildSpaceTest(f *assembly, _ *instruction, o *op) {
	f.arguments(2)
	f.space(o)
	o.kind, o.d, o.a = masks, f.destination(0, dtypes["pred"]), f.source(1, dtypes["u64"])
	o.run = func(w *warp, o *op) {
		var set uint32
		for l, address := range lanesOf[uint64](w, o.a) {
			s := globalSpace
			switch {
			case address-sharedWindow < windowBytes:
				s = sharedSpace
			case address-localWindow < windowBytes:
				s = localSpace
			case address-paramWindow < windowBytes:
				s = paramSpace
			}
			if s == o.space {
				set |= 1 << l
			}
		}
		w.setBits(o.d, set)
	}
}

// buildNothing accepts instructions whose effect is not modelled: fences and hints.
func buildNothing(f *assembly, _ *instruction, o *op) {
	f.words = nil
	o.kind = masks
	o.run = func(*warp, *op) {}
}

package ptx

import (
	"math/bits"
	"slices"
)

// The registers that a thread of a kernel needs, estimated from the values that are live at each instruction.

// noDestination holds the instructions whose first operand is a source.
var noDestination = []string{"st", "bar", "barrier", "bra", "ret", "exit", "trap", "cp", "prefetch", "prefetchu",
	"membar", "fence", "nanosleep"}

// registerSet is a set of the narrow registers from 0 on, followed by the wide ones.
type registerSet []uint64

func (s registerSet) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s registerSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s registerSet) remove(i int)   { s[i/64] &^= 1 << (i % 64) }

// stretch is a run of instructions that only its last one leaves.
type stretch struct {
	first, end     int // instructions [first, end)
	next           []int
	reads, written registerSet // read before they are written, and written for certain
	live           registerSet // before the first instruction
}

// liveness estimates the registers of a thread: the most 32-bit words that hold values needed later at once. The
// assembler of a real driver moves and repeats instructions, so it may need fewer or more.
func (f *assembly) liveness() int {
	narrowCount := f.kernel.counts[narrow]
	words := (narrowCount+f.kernel.counts[wide])/64 + 1
	index := func(r register) int {
		if r.bank == wide {
			return narrowCount + int(r.slot)
		}
		return int(r.slot)
	}
	stretches := f.stretches(words)
	for i := range stretches {
		s := &stretches[i]
		for j := s.first; j < s.end; j++ {
			f.registersOf(j, func(r register, write bool) {
				switch n := index(r); {
				case write && !f.instructions[j].guarded:
					s.written.add(n)
				case !s.written.has(n):
					s.reads.add(n)
				}
			})
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(stretches) - 1; i >= 0; i-- {
			s := &stretches[i]
			for w := range words {
				var out uint64
				for _, n := range s.next {
					out |= stretches[n].live[w]
				}
				if live := s.reads[w] | out&^s.written[w]; live != s.live[w] {
					s.live[w], changed = live, true
				}
			}
		}
	}
	most := 0
	for i := range stretches {
		s := &stretches[i]
		live := make(registerSet, words)
		for _, n := range s.next {
			for w := range live {
				live[w] |= stretches[n].live[w]
			}
		}
		for j := s.end - 1; j >= s.first; j-- {
			f.registersOf(j, func(r register, write bool) {
				if write && !f.instructions[j].guarded {
					live.remove(index(r))
				}
			})
			f.registersOf(j, func(r register, write bool) {
				if !write {
					live.add(index(r))
				}
			})
			most = max(most, live.words(narrowCount))
		}
	}
	return most
}

// words counts the 32-bit words of the registers of a set.
func (s registerSet) words(narrowCount int) int {
	n := 0
	for i, w := range s {
		n += 2 * bits.OnesCount64(w)
		switch below := narrowCount - 64*i; {
		case below >= 64:
			n -= bits.OnesCount64(w)
		case below > 0:
			n -= bits.OnesCount64(w & (1<<below - 1))
		}
	}
	return n
}

// registersOf calls f for the registers that an instruction reads and, after them, for those that it writes. Predicates
// are left out.
func (f *assembly) registersOf(i int, visit func(r register, write bool)) {
	in := &f.instructions[i]
	var operands func(o operand, write bool)
	operands = func(o operand, write bool) {
		if o.kind == registerOperand && o.reg.bank != predicate {
			visit(o.reg, write)
		}
		for _, x := range o.list {
			operands(x, write && o.kind != addressOperand)
		}
	}
	destination := 0
	if slices.Contains(noDestination, in.opcode[0]) {
		destination = -1
	}
	for j, o := range in.args {
		if j != destination {
			operands(o, false)
		}
	}
	if destination == 0 && len(in.args) > 0 {
		operands(in.args[0], true)
	}
}

// stretches cuts the instructions at branches and their targets.
func (f *assembly) stretches(words int) []stretch {
	n := len(f.instructions)
	starts := make([]bool, n+1)
	starts[0] = true
	for i := range f.instructions {
		switch o := &f.kernel.code[i]; o.kind {
		case jumps:
			starts[o.target], starts[i+1] = true, true
		case exits:
			starts[i+1] = true
		}
	}
	var list []stretch
	at := make([]int, n+1) // stretch of each first instruction
	for i := range n {
		if starts[i] {
			at[i] = len(list)
			list = append(list, stretch{first: i, reads: make(registerSet, words), written: make(registerSet, words),
				live: make(registerSet, words)})
		}
		list[len(list)-1].end = i + 1
	}
	for i := range list {
		s := &list[i]
		o := &f.kernel.code[s.end-1]
		if o.kind == jumps && int(o.target) < n {
			s.next = append(s.next, at[o.target])
		}
		if s.end < n && (o.kind != jumps && o.kind != exits || o.guard >= 0) {
			s.next = append(s.next, at[s.end])
		}
	}
	return list
}

package ptx_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/gpu/emulator/memory"
	"prismtop/gpu/emulator/ptx"
	kernels "prismtop/gpu/kernels"
)

// The emulator reads every kernel of the CUDA backend, so that a change of the compiler's output shows here.
func TestReadsTheBackendsKernels(t *testing.T) {
	for _, set := range kernels.Sets() {
		modules, err := set.Modules()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range modules {
			parsed, err := ptx.Parse(m.Text)
			if err != nil {
				t.Errorf("%s of %s: %v", m.Name, set.Name, err)
				continue
			}
			if parsed.Target != set.Capability || len(parsed.Kernels) != len(m.Kernels()) {
				t.Errorf("%s of %s: target sm_%d, %d kernels", m.Name, set.Name, parsed.Target, len(parsed.Kernels))
			}
			for name, k := range parsed.Kernels {
				if k.ParamBytes == 0 || k.Instructions == 0 || k.Registers == 0 {
					t.Errorf("kernel %s: %d bytes of parameters, %d instructions, %d registers", name, k.ParamBytes, k.Instructions, k.Registers)
				}
			}
		}
	}
}

// The registers of a thread are those whose values are needed later: around a loop all that it reads.
func TestRegistersAreEstimated(t *testing.T) {
	body := `	.reg .b32 %r<9>; .reg .b64 %l<4>; .reg .pred %p;
	ld.param.u64 %l1, [p];        // l1: 2 words
	ld.global.v2.u32 {%r1, %r2}, [%l1];
	mov.u32 %r3, 0;               // l1, r1, r2, r3: 5
LOOP:
	add.u32 %r4, %r1, %r2;
	add.u32 %r3, %r3, %r4;        // and r4: 6
	setp.lt.u32 %p, %r3, 100;
	@%p bra LOOP;
	st.global.u32 [%l1], %r3;
	mov.u32 %r5, %r3;`
	m, err := ptx.Parse([]byte(".version 7.0\n.target sm_80\n.entry k(.param .b64 p)\n{\n" + body + "\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Kernels["k"].Registers; got != 6+2 {
		t.Errorf("%d registers, want 6 and the 2 of the frame", got)
	}
}

// Text that is not PTX is an error with its line.
func TestParseErrors(t *testing.T) {
	const head = ".version 7.0\n.target sm_80\n.address_size 64\n"
	entry := func(body string) string { return head + ".entry k(.param .b64 p)\n{\n" + body + "\n}\n" }
	tests := []struct{ name, text, want string }{
		{"empty", "", "no .version"},
		{"a character", head + "\n^", "line 5: unexpected character"},
		{"a comment without an end", head + "/*", "line 4: comment"},
		{"an address of 32 bits", ".version 7.0\n.target sm_80\n.address_size 32\n", "address size"},
		{"a function", head + ".func f() {}", "line 4: functions are not supported"},
		{"an unknown register", entry("mov.u32 %r1, 5;"), "line 6: unknown register %r1"},
		{"an unknown label", entry("bra L;"), "line 6: bra: unknown label L"},
		{"a label twice", entry("L:\nL:\nret;"), "line 7: label L is defined twice"},
		{"a kernel twice", entry("ret;") + ".entry k() { ret; }", "kernel k is defined twice"},
		{"no end", head + ".entry k() {", "expected"},
		{"too few operands", entry(".reg .b32 %r<2>; add.s32 %r1, %r0;"), "line 6: add.s32: the instruction has 2 operands, not 3"},
		{"a huge number of registers", entry(".reg .b32 %r<99999999>;"), "registers"},
		{"a huge variable", head + ".global .align 4 .b8 x[1073741824][1073741824];", "too large"},
		{"an unknown name", entry(".reg .b64 %l; mov.u64 %l, x;"), "line 6: mov.u64: unknown name x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ptx.Parse([]byte(test.text))
			if !errors.Is(err, ptx.ErrSyntax) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// Any text gives a module or an error. A kernel without instructions that need more than its parameter also runs, or
// ends in a fault.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../testdata/*.ptx")
	if err != nil || len(files) == 0 {
		f.Fatal("no PTX to begin with: ", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		head, rest, _ := bytes.Cut(text, []byte(".visible"))
		for _, k := range bytes.Split(rest, []byte(".visible")) {
			f.Add(append(append([]byte(string(head)), ".visible"...), k...))
		}
	}
	for _, x := range append(append(ops[:len(ops):len(ops)], floatOps...), conversions...) {
		f.Add([]byte(kernelText(x.body, "r")))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ptx.Parse(text)
		if err != nil {
			if !errors.Is(err, ptx.ErrSyntax) {
				t.Errorf("not a syntax error: %v", err)
			}
			return
		}
		space := memory.NewSpace(1 << 16)
		loaded, err := m.Load(space)
		if err != nil {
			return
		}
		for _, k := range m.Kernels {
			if k.ParamBytes > 1<<12 || k.SharedBytes > 1<<16 || k.LocalBytes > 1<<12 {
				continue
			}
			x := ptx.Launch{Kernel: k, Module: loaded, Memory: space, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{33, 1, 1}, Param: make([]byte, k.ParamBytes), Steps: 10000, Workers: 1, Checks: strict}
			if _, err := x.Run(); err != nil && len(err.Error()) == 0 {
				t.Error("an error without a text")
			}
		}
	})
}

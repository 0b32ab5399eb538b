package ptx_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"prismtop/gpu/emulator/memory"
	"prismtop/gpu/emulator/ptx"
)

var strict = ptx.Checks{Uninitialised: true, Races: true}

// array is memory of a device with 32-bit elements.
type array struct {
	*memory.Allocation
}

func newArray(t testing.TB, s *memory.Space, n int, values ...uint32) array {
	t.Helper()
	a, err := s.Alloc(int64(4*n), "")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		binary.NativeEndian.PutUint32(a.Data[4*i:], v)
	}
	a.Mark(0, uint64(4*len(values)))
	return array{a}
}

func (a array) at(i int) uint32 { return binary.NativeEndian.Uint32(a.Data[4*i:]) }

// threadText is a kernel whose threads find their number in %tid, the addresses of their words of two arrays in %in and
// %out, and registers %r0 to %r19, %f0 to %f9, %l0 to %l9, %p0 to %p9.
func threadText(declarations, body string) string {
	return `.version 8.0
.target sm_80
.address_size 64
` + declarations + `
.visible .entry test(.param .align 8 .b8 p[24])
{
	.reg .b32 %tid, %four, %r<20>, %f<10>;
	.reg .b64 %in, %out, %l<10>;
	.reg .pred %p<10>;
	mov.u32 %tid, %tid.x;
	shl.b32 %four, %tid, 2;
	ld.param.u64 %in, [p];
	ld.param.u64 %out, [p+8];
	mad.wide.u32 %in, %tid, 4, %in;
	mad.wide.u32 %out, %tid, 4, %out;
` + body + "\n\tret;\n}\n"
}

// runThreads runs a body on threads with an input of their numbers plus 100 and returns what they wrote.
func runThreads(t *testing.T, declarations, body string, threads int) ([]uint32, error) {
	t.Helper()
	space := memory.NewSpace(1 << 20)
	var input []uint32
	for i := range threads {
		input = append(input, uint32(100+i))
	}
	in, out := newArray(t, space, threads, input...), newArray(t, space, threads)
	err := launch(t, threadText(declarations, body), "test", space, uint32(threads), 0, strict, in.Base, out.Base, 0)
	var results []uint32
	for i := range threads {
		results = append(results, out.at(i))
	}
	return results, err
}

func TestWarpInstructions(t *testing.T) {
	const load, store = "ld.global.u32 %r0, [%in];\n", "st.global.u32 [%out], %r1;\n"
	tests := []struct {
		name, declarations, body string
		threads                  int
		want                     func(i int) uint32
	}{
		{"shfl down", "", "shfl.sync.down.b32 %r1, %r0, 4, 31, -1;", 64, func(i int) uint32 {
			if i%32+4 < 32 {
				return uint32(104 + i)
			}
			return uint32(100 + i)
		}},
		{"shfl up", "", "shfl.sync.up.b32 %r1|%p1, %r0, 1, 0, -1; @!%p1 mov.u32 %r1, 0;", 32, func(i int) uint32 {
			if i == 0 {
				return 0
			}
			return uint32(99 + i)
		}},
		{"shfl bfly", "", "shfl.sync.bfly.b32 %r1, %r0, 5, 31, 0xffffffff;", 64, func(i int) uint32 { return uint32(100 + (i ^ 5)) }},
		{"shfl idx of segments of 8", "", "shfl.sync.idx.b32 %r1, %r0, 3, 0x1807, -1;", 32, func(i int) uint32 { return uint32(100 + i&^7 + 3) }},
		{"shfl down of segments of 8", "", "shfl.sync.down.b32 %r1, %r0, 2, 0x181f, -1;", 32, func(i int) uint32 {
			if i&7+2 < 8 {
				return uint32(102 + i)
			}
			return uint32(100 + i)
		}},
		{"shfl in a half of the warp", "", `setp.lt.u32 %p0, %tid, 16; mov.u32 %r1, 7;
			@!%p0 bra L; shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff; L:`, 32, func(i int) uint32 {
			if i < 16 {
				return uint32(100 + (i ^ 1))
			}
			return 7
		}},
		{"shfl in a partial warp", "", "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;", 20, func(int) uint32 { return 100 }},
		{"vote ballot", "", "and.b32 %r2, %tid, 1; setp.eq.u32 %p0, %r2, 0; vote.sync.ballot.b32 %r1, %p0, -1;", 32, func(int) uint32 { return 0x55555555 }},
		{"vote any all", "", `setp.eq.u32 %p0, %tid, 3; vote.sync.any.pred %p1, %p0, -1; vote.sync.all.pred %p2, !%p0, -1;
			selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; add.u32 %r1, %r1, %r2;`, 64, func(i int) uint32 {
			if i < 32 {
				return 1
			}
			return 2
		}},
		{"activemask", "", "setp.lt.u32 %p0, %tid, 5; mov.u32 %r1, 0; @%p0 activemask.b32 %r1;", 32, func(i int) uint32 {
			if i < 5 {
				return 31
			}
			return 0
		}},
		{"barrier", ".shared .align 4 .b8 s[256];", `mov.u32 %r2, s; add.u32 %r3, %r2, %four; st.shared.u32 [%r3], %r0; bar.sync 0;
			xor.b32 %r4, %four, 252; add.u32 %r4, %r4, %r2; ld.shared.u32 %r1, [%r4];`, 64, func(i int) uint32 { return uint32(100 + 63 - i) }},
		{"barrier of two warps, an exited one", ".shared .align 4 .b8 s[512];", `setp.ge.u32 %p0, %tid, 64; st.global.u32 [%out], %tid; @%p0 exit;
			mov.u32 %r2, s; add.u32 %r3, %r2, %four; st.shared.u32 [%r3], %r0; barrier.sync 0;
			xor.b32 %r4, %four, 252; add.u32 %r4, %r4, %r2; ld.shared.u32 %r1, [%r4];`, 96, func(i int) uint32 {
			if i >= 64 {
				return uint32(i)
			}
			return uint32(100 + 63 - i)
		}},
		{"bar.warp.sync", ".shared .align 4 .b8 s[128];", `mov.u32 %r2, s; add.u32 %r3, %r2, %four; st.shared.u32 [%r3], %r0; bar.warp.sync -1;
			xor.b32 %r4, %four, 4; add.u32 %r4, %r4, %r2; ld.shared.u32 %r1, [%r4];`, 32, func(i int) uint32 { return uint32(100 + (i ^ 1)) }},
		{"reconvergence", "", `and.b32 %r2, %tid, 3; mov.u32 %r1, 0;
			LOOP: setp.eq.u32 %p0, %r2, 0; @%p0 bra DONE; add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; bra.uni LOOP;
			DONE: shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;`, 32, func(i int) uint32 { return []uint32{0, 1, 3, 6}[i&3^1] }},
		{"a detour behind the join", "", `setp.lt.u32 %p0, %tid, 8; mov.u32 %r1, %r0; @%p0 bra FAR;
			JOIN: shfl.sync.bfly.b32 %r1, %r1, 31, 31, -1; bra END;
			FAR: add.u32 %r1, %r1, 1000; bra JOIN;
			END:`, 32, func(i int) uint32 {
			if 31-i < 8 {
				return uint32(1100 + 31 - i)
			}
			return uint32(100 + 31 - i)
		}},
		{"vectors", ".global .align 16 .b8 g[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3};", `ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [g]; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
			ld.global.v2.u32 {_, %r2}, [g+4]; shl.b32 %r2, %r2, 8; or.b32 %r1, %r1, %r2;`, 32, nil},
		{"an address with an offset", ".const .align 4 .u32 c[3] = {5, 0x10, 7};", "mov.u64 %l0, c+4; cvta.const.u64 %l0, %l0; ld.u32 %r1, [%l0+-4]; ld.u32 %r2, [%l0+4]; add.u32 %r1, %r1, %r2;", 32,
			func(int) uint32 { return 12 }},
		{"constants", ".const .align 4 .u32 c[3] = {5, 0x10, 7};\n.const .align 4 .f32 pi = 0f40490FDB;", "ld.const.u32 %r1, [c+8]; ld.const.f32 %f0, [pi]; cvt.rzi.u32.f32 %r2, %f0; add.u32 %r1, %r1, %r2;", 32,
			func(int) uint32 { return 10 }},
		{"a generic address of shared memory", ".shared .align 8 .b8 s[256];", `mov.u64 %l0, s; cvta.shared.u64 %l1, %l0; mad.wide.u32 %l1, %tid, 4, %l1; st.u32 [%l1], %r0;
			isspacep.shared %p0, %l1; isspacep.global %p1, %in; cvta.to.shared.u64 %l2, %l1; ld.shared.u32 %r1, [%l2]; selp.u32 %r2, 1, 2, %p0; selp.u32 %r3, 1, 2, %p1;
			mad.lo.u32 %r1, %r2, %r1, 0; mul.lo.u32 %r1, %r1, %r3;`, 64, func(i int) uint32 { return uint32(100 + i) }},
		{"signed bytes", "", "st.global.u32 [%out], 0; st.global.u8 [%out+1], %r0; neg.s32 %r2, %r0; st.global.u8 [%out], %r2; ld.global.s8 %r1, [%out]; ld.global.u8 %r2, [%out+1]; add.u32 %r1, %r1, %r2;", 20,
			func(int) uint32 { return 0 }},
		{"wide loads of narrow data", "", "ld.global.u32 %l0, [%in]; ld.global.s16 %l1, [%in]; sub.s64 %l0, %l0, %l1; cvt.u32.u64 %r1, %l0;", 32, func(int) uint32 { return 0 }},
		{"the parameter by a computed address", "", "mov.b64 %l0, p; cvta.param.u64 %l0, %l0; add.s64 %l0, %l0, 16; ld.u32 %r1, [%l0];", 32, func(int) uint32 { return 0 }},
		{"local memory", "", ".local .align 8 .b8 d[16]; .reg .b64 %SP, %SPL; mov.u64 %SPL, d; cvta.local.u64 %SP, %SPL; st.u32 [%SP+4], %r0; ld.local.u32 %r1, [%SPL+4];", 64,
			func(i int) uint32 { return uint32(100 + i) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.want == nil { // at an address that is not a multiple of the vector
				_, err := runThreads(t, test.declarations, load+test.body+store, test.threads)
				if f := new(ptx.Fault); !errors.As(err, &f) || f.Kind != ptx.Misaligned {
					t.Fatalf("got %v", err)
				}
				return
			}
			got, err := runThreads(t, test.declarations, load+test.body+store, test.threads)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if want := test.want(i); v != want {
					t.Fatalf("thread %d has %d, want %d (all: %d)", i, v, want, got)
				}
			}
		})
	}
}

// A warp-wide instruction that a part of its lanes cannot reach ends the launch.
func TestConvergenceFaults(t *testing.T) {
	tests := []struct {
		name, body, detail string
		kind               ptx.FaultKind
	}{
		{"lanes exited", "setp.gt.u32 %p0, %tid, 20; @%p0 exit; shfl.sync.idx.b32 %r1, %tid, 0, 31, -1;", "exited", ptx.Divergence},
		{"two shuffles", "setp.gt.u32 %p0, %tid, 20; @%p0 bra B; shfl.sync.idx.b32 %r1, %tid, 0, 31, -1; bra C; B: shfl.sync.idx.b32 %r1, %tid, 0, 31, -1; C:", "waits at line", ptx.Divergence},
		{"a guarded shuffle", "setp.gt.u32 %p0, %tid, 20; @%p0 shfl.sync.idx.b32 %r1, %tid, 0, 31, -1;", "exited", ptx.Divergence},
		{"a lane outside of the mask", "shfl.sync.idx.b32 %r1, %tid, 0, 31, 0xffff;", "does not hold the lane", ptx.Divergence},
		{"a source outside of the mask", "setp.gt.u32 %p0, %tid, 15; @%p0 exit; shfl.sync.bfly.b32 %r1, %tid, 16, 31, 0xffff;", "does not take part", ptx.Divergence},
		{"masks that differ", "setp.gt.u32 %p0, %tid, 15; selp.u32 %r2, 0xffffffff, 0xfffffffe, %p0; shfl.sync.idx.b32 %r1, %tid, 1, 31, %r2;", "mask", ptx.Divergence},
		{"a barrier in a branch", "setp.gt.u32 %p0, %tid, 15; @%p0 bra B; bar.sync 0; bra C; B: bar.sync 0; C:", "waits at line", ptx.Divergence},
		{"a matrix product of a partial warp", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4}, {%r0, %r1};", "no threads for 0xfff00000", ptx.Divergence},
		{"a barrier of too many threads", "bar.sync 1, 64;", "32 at line", ptx.Deadlock},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			threads := 32
			if strings.HasPrefix(test.body, "mma") {
				threads = 20
			}
			_, err := runThreads(t, "", test.body, threads)
			f := new(ptx.Fault)
			if !errors.As(err, &f) || f.Kind != test.kind || !strings.Contains(f.Detail, test.detail) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// Every shape and type of mma is the product of its factors, computed in float64.
func TestMMA(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, test := range []struct {
		shape, types string
		depth        int
		words        [3]int // of A, B and C
	}{
		{"m16n8k16", "f32.f16.f16.f32", 16, [3]int{4, 2, 4}},
		{"m16n8k16", "f32.bf16.bf16.f32", 16, [3]int{4, 2, 4}},
		{"m16n8k16", "f16.f16.f16.f16", 16, [3]int{4, 2, 2}},
		{"m16n8k8", "f32.f16.f16.f32", 8, [3]int{2, 1, 4}},
		{"m16n8k8", "f16.f16.f16.f16", 8, [3]int{2, 1, 2}},
		{"m16n8k8", "f32.bf16.bf16.f32", 8, [3]int{2, 1, 4}},
		{"m16n8k8", "f32.tf32.tf32.f32", 8, [3]int{4, 2, 4}},
		{"m16n8k4", "f32.tf32.tf32.f32", 4, [3]int{2, 1, 4}},
	} {
		t.Run(test.shape+"."+test.types, func(t *testing.T) {
			kinds := strings.Split(test.types, ".")
			factor, result := kinds[1], kinds[0]
			k := test.depth
			value := func(bits uint32) float64 {
				switch factor {
				case "f16":
					return half(uint64(bits))
				case "bf16":
					return float64(math.Float32frombits(bits << 16))
				}
				return float64(math.Float32frombits(bits &^ 0x1fff))
			}
			random := func() uint32 {
				x := r.NormFloat64()
				switch factor {
				case "f16":
					return uint32(nearestHalf(x))
				case "bf16":
					return math.Float32bits(float32(x)) >> 16
				}
				return math.Float32bits(float32(x)) // the lower bits must not matter
			}
			var a [16][16]uint32
			var b [16][8]uint32
			var c [16][8]float64
			for i := range 16 {
				for j := range k {
					a[i][j] = random()
				}
				for j := range 8 {
					b[i][j] = random()
					c[i][j] = half(nearestHalf(r.NormFloat64()))
				}
			}
			// As the manual of PTX places the elements: groups g of four lanes, q the lane in the group.
			wa, wb, wc := test.words[0], test.words[1], test.words[2]
			per := wa + wb + wc
			input := make([]uint32, 32*per)
			place := func(l, word int) *uint32 { return &input[l*per+word] }
			for l := range 32 {
				g, q := l>>2, l&3
				if factor == "tf32" {
					*place(l, 0), *place(l, 1) = a[g][q], a[g+8][q]
					*place(l, wa) = b[q][g]
					if k == 8 {
						*place(l, 2), *place(l, 3) = a[g][q+4], a[g+8][q+4]
						*place(l, wa+1) = b[q+4][g]
					}
				} else {
					*place(l, 0), *place(l, 1) = a[g][2*q]|a[g][2*q+1]<<16, a[g+8][2*q]|a[g+8][2*q+1]<<16
					*place(l, wa) = b[2*q][g] | b[2*q+1][g]<<16
					if k == 16 {
						*place(l, 2), *place(l, 3) = a[g][2*q+8]|a[g][2*q+9]<<16, a[g+8][2*q+8]|a[g+8][2*q+9]<<16
						*place(l, wa+1) = b[2*q+8][g] | b[2*q+9][g]<<16
					}
				}
				for i := range 4 {
					x := c[g+8*(i/2)][2*q+i%2]
					if result == "f32" {
						*place(l, wa+wb+i) = math.Float32bits(float32(x))
					} else {
						*place(l, wa+wb+i/2) |= uint32(nearestHalf(x)) << (16 * (i % 2))
					}
				}
			}
			names := func(first, n int) string {
				var list []string
				for i := range n {
					list = append(list, fmt.Sprintf("%%r%d", first+i))
				}
				return "{" + strings.Join(list, ", ") + "}"
			}
			body := fmt.Sprintf("ld.param.u64 %%l0, [p]; mad.wide.u32 %%l0, %%tid, %d, %%l0; ld.param.u64 %%l1, [p+8]; mad.wide.u32 %%l1, %%tid, %d, %%l1;\n", 4*per, 4*wc)
			for i := range per {
				body += fmt.Sprintf("ld.global.u32 %%r%d, [%%l0+%d];\n", i, 4*i)
			}
			body += fmt.Sprintf("mma.sync.aligned.%s.row.col.%s %s, %s, %s, %s;\n", test.shape, test.types, names(wa+wb, wc), names(0, wa), names(wa, wb), names(wa+wb, wc))
			for i := range wc {
				body += fmt.Sprintf("st.global.u32 [%%l1+%d], %%r%d;\n", 4*i, wa+wb+i)
			}
			space := memory.NewSpace(1 << 20)
			in, out := newArray(t, space, len(input), input...), newArray(t, space, 32*wc)
			if err := launch(t, threadText("", body), "test", space, 32, 0, strict, in.Base, out.Base, 0); err != nil {
				t.Fatal(err)
			}
			for l := range 32 {
				g, q := l>>2, l&3
				for i := range 4 {
					row, column := g+8*(i/2), 2*q+i%2
					want := c[row][column]
					for j := range k {
						want += value(a[row][j]) * value(b[j][column])
					}
					var got float64
					tolerance := 1e-6
					if result == "f32" {
						got = float64(math.Float32frombits(out.at(l*wc + i)))
					} else {
						got, tolerance = half(uint64(out.at(l*wc+i/2)>>(16*(i%2))&0xffff)), 1e-3
					}
					if math.Abs(got-want) > tolerance*max(1, math.Abs(want)) {
						t.Fatalf("D[%d][%d] = %v, want %v", row, column, got, want)
					}
				}
			}
		})
	}
}

func TestLdmatrix(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		suffix := ""
		if transposed {
			suffix = ".trans"
		}
		// Each lane writes a row of 16 bytes whose elements are 8·lane + column, then all load four matrices.
		body := `shl.b32 %r0, %tid, 4; mov.u32 %r1, s; add.u32 %r0, %r0, %r1; shl.b32 %r2, %tid, 3; add.u32 %r3, %r2, 1; shl.b32 %r3, %r3, 16; or.b32 %r2, %r2, %r3;
			add.u32 %r3, %r2, 0x20002; add.u32 %r4, %r2, 0x40004; add.u32 %r5, %r2, 0x60006; st.shared.v4.b32 [%r0], {%r2, %r3, %r4, %r5}; bar.sync 0;
			ldmatrix.sync.aligned.m8n8.x4` + suffix + `.shared.b16 {%r6, %r7, %r8, %r9}, [%r0];
			ld.param.u64 %l1, [p+8]; mad.wide.u32 %l1, %tid, 16, %l1; st.global.v4.u32 [%l1], {%r6, %r7, %r8, %r9};`
		space := memory.NewSpace(1 << 20)
		out := newArray(t, space, 128)
		if err := launch(t, threadText(".shared .align 16 .b8 s[512];", strings.ReplaceAll(body, "\n", "\n")), "test", space, 32, 0, strict, 0, out.Base, 0); err != nil {
			t.Fatal(err)
		}
		for l := range 32 {
			for i := range 4 {
				for half := range 2 {
					row, column := l/4, l%4*2+half
					if transposed {
						row, column = column, row
					}
					want := uint32(8*(8*i+row) + column)
					if got := out.at(4*l+i) >> (16 * half) & 0xffff; got != want {
						t.Fatalf("transposed %v: lane %d, matrix %d, element %d: %d, want %d", transposed, l, i, half, got, want)
					}
				}
			}
		}
	}
}

func TestAsyncCopies(t *testing.T) {
	body := `ld.param.u64 %l0, [p]; mad.wide.u32 %l0, %tid, 16, %l0; ld.param.u64 %l1, [p+8]; mad.wide.u32 %l1, %tid, 16, %l1;
		mov.u32 %r0, s; mad.lo.u32 %r0, %tid, 16, %r0; mov.u32 %r1, 12;
		cp.async.cg.shared.global.L2::128B [%r0], [%l0], 16; cp.async.commit_group;
		cp.async.ca.shared.global [%r0+512], [%l0], 16, %r1; cp.async.commit_group;
		cp.async.wait_group 1; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r0];
		cp.async.wait_all; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r0+512];
		sub.u32 %r2, %r2, %r6; sub.u32 %r3, %r3, %r7; sub.u32 %r4, %r4, %r8; st.global.v4.u32 [%l1], {%r2, %r3, %r4, %r9};`
	space := memory.NewSpace(1 << 20)
	input := make([]uint32, 128)
	for i := range input {
		input[i] = uint32(1000 + i)
	}
	in, out := newArray(t, space, 128, input...), newArray(t, space, 128)
	if err := launch(t, threadText(".shared .align 16 .b8 s[1024];", body), "test", space, 32, 0, strict, in.Base, out.Base, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 128 {
		if got := out.at(i); got != 0 {
			t.Fatalf("word %d: %d, want 0 (the last four bytes are filled with zeros)", i, got)
		}
	}
}

// Dynamic shared memory follows the static one, with a gap between them.
func TestDynamicSharedMemory(t *testing.T) {
	body := `mov.u32 %r0, dynamic; add.u32 %r0, %r0, %four; st.shared.u32 [%r0], %tid; mov.u32 %r1, fixed; add.u32 %r1, %r1, %four; st.shared.u32 [%r1], 7;
		bar.sync 0; ld.shared.u32 %r2, [%r0]; st.global.u32 [%out], %r2;`
	text := threadText(".extern .shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 fixed[128];", body)
	for _, shared := range []int{128, 124} {
		space := memory.NewSpace(1 << 20)
		out := newArray(t, space, 32)
		err := launch(t, text, "test", space, 32, shared, strict, 0, out.Base, 0)
		if shared == 128 && (err != nil || out.at(31) != 31) {
			t.Errorf("got %v, %v", out.at(31), err)
		}
		if f := new(ptx.Fault); shared == 124 && (!errors.As(err, &f) || f.Kind != ptx.OutOfBounds || f.Thread != [3]uint32{31, 0, 0}) {
			t.Errorf("an overrun of dynamic shared memory: %v", err)
		}
	}
}

// Blocks of a grid run in any order on any number of goroutines; results and faults are the same.
func TestBlocksAreIndependent(t *testing.T) {
	text := strings.ReplaceAll(threadText("", `mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r3, %r2, %r1, %r0;
		ld.param.u64 %l1, [p+8]; mad.wide.u32 %l1, %r3, 4, %l1; st.global.u32 [%l1], %r3;`), "%out, %tid, 4, %out", "%out, 0, 4, %out")
	m, err := ptx.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 4} {
		space := memory.NewSpace(1 << 20)
		loaded, err := m.Load(space)
		if err != nil {
			t.Fatal(err)
		}
		out := newArray(t, space, 90)
		x := ptx.Launch{Kernel: m.Kernels["test"], Module: loaded, Memory: space, Grid: [3]uint32{10, 10, 1}, Block: [3]uint32{1, 1, 1}, Workers: workers, Checks: strict}
		x.Param = binary.NativeEndian.AppendUint64(nil, 0)
		x.Param = binary.NativeEndian.AppendUint64(x.Param, out.Base)
		x.Param = binary.NativeEndian.AppendUint64(x.Param, 0)
		_, err = x.Run()
		if f := new(ptx.Fault); !errors.As(err, &f) || f.Block != [3]uint32{0, 9, 0} {
			t.Fatalf("the first block beyond the array is [0 9 0]: %v", err)
		}
		for i := range 90 {
			if out.at(i) != uint32(i) {
				t.Fatalf("block %d wrote %d", i, out.at(i))
			}
		}
	}
}

package matrix

import (
	"bytes"
	"testing"

	"github.com/mmcloughlin/avo/reg"
)

// The encodings are those that GNU as 2.40 gives for the instructions in the
// comments, with every register field low and high and every displacement's size.
func TestAMXEncodingsAreGNUAssemblers(t *testing.T) {
	for _, c := range []struct{ got, want []byte }{
		{ldtilecfg(reg.RAX, 0), []byte{0xc4, 0xe2, 0x78, 0x49, 0x00}},                                              // ldtilecfg (%rax)
		{ldtilecfg(reg.R13, 0), []byte{0xc4, 0xc2, 0x78, 0x49, 0x45, 0x00}},                                        // ldtilecfg (%r13)
		{ldtilecfg(reg.RSP, 64), []byte{0xc4, 0xe2, 0x78, 0x49, 0x44, 0x24, 0x40}},                                 // ldtilecfg 64(%rsp)
		{ldtilecfg(reg.R12, 0), []byte{0xc4, 0xc2, 0x78, 0x49, 0x04, 0x24}},                                        // ldtilecfg (%r12)
		{tilerelease(), []byte{0xc4, 0xe2, 0x78, 0x49, 0xc0}},                                                      // tilerelease
		{tilezero(0), []byte{0xc4, 0xe2, 0x7b, 0x49, 0xc0}},                                                        // tilezero %tmm0
		{tilezero(7), []byte{0xc4, 0xe2, 0x7b, 0x49, 0xf8}},                                                        // tilezero %tmm7
		{tilezero(3), []byte{0xc4, 0xe2, 0x7b, 0x49, 0xd8}},                                                        // tilezero %tmm3
		{tileload(0, reg.RAX, reg.RBX, 0), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x18}},                             // tileloadd (%rax,%rbx,1), %tmm0
		{tileload(4, reg.RSI, reg.R11, 0), []byte{0xc4, 0xa2, 0x7b, 0x4b, 0x24, 0x1e}},                             // tileloadd (%rsi,%r11,1), %tmm4
		{tileload(6, reg.R12, reg.R13, 0), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x34, 0x2c}},                             // tileloadd (%r12,%r13,1), %tmm6
		{tileload(7, reg.R13, reg.RCX, 0), []byte{0xc4, 0xc2, 0x7b, 0x4b, 0x7c, 0x0d, 0x00}},                       // tileloadd (%r13,%rcx,1), %tmm7
		{tileload(1, reg.RBP, reg.RDX, 0), []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x4c, 0x15, 0x00}},                       // tileloadd (%rbp,%rdx,1), %tmm1
		{tileload(5, reg.R9, reg.R8, 64), []byte{0xc4, 0x82, 0x7b, 0x4b, 0x6c, 0x01, 0x40}},                        // tileloadd 64(%r9,%r8,1), %tmm5
		{tileload(2, reg.RDI, reg.R15, 4096), []byte{0xc4, 0xa2, 0x7b, 0x4b, 0x94, 0x3f, 0x00, 0x10, 0x00, 0x00}},  // tileloadd 4096(%rdi,%r15,1), %tmm2
		{tileload(3, reg.R8, reg.RAX, -128), []byte{0xc4, 0xc2, 0x7b, 0x4b, 0x5c, 0x00, 0x80}},                     // tileloadd -128(%r8,%rax,1), %tmm3
		{tileload(3, reg.R8, reg.RAX, -129), []byte{0xc4, 0xc2, 0x7b, 0x4b, 0x9c, 0x00, 0x7f, 0xff, 0xff, 0xff}},   // tileloadd -129(%r8,%rax,1), %tmm3
		{tilestore(0, reg.RDX, reg.RSI, 0), []byte{0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x32}},                            // tilestored %tmm0, (%rdx,%rsi,1)
		{tilestore(3, reg.RBX, reg.R9, 0), []byte{0xc4, 0xa2, 0x7a, 0x4b, 0x1c, 0x0b}},                             // tilestored %tmm3, (%rbx,%r9,1)
		{tilestore(7, reg.R15, reg.RBP, 1024), []byte{0xc4, 0xc2, 0x7a, 0x4b, 0xbc, 0x2f, 0x00, 0x04, 0x00, 0x00}}, // tilestored %tmm7, 1024(%r15,%rbp,1)
		{tdpbf16ps(0, 4, 6), []byte{0xc4, 0xe2, 0x4a, 0x5c, 0xc4}},                                                 // tdpbf16ps %tmm6, %tmm4, %tmm0
		{tdpbf16ps(1, 4, 7), []byte{0xc4, 0xe2, 0x42, 0x5c, 0xcc}},                                                 // tdpbf16ps %tmm7, %tmm4, %tmm1
		{tdpbf16ps(2, 5, 6), []byte{0xc4, 0xe2, 0x4a, 0x5c, 0xd5}},                                                 // tdpbf16ps %tmm6, %tmm5, %tmm2
		{tdpbf16ps(3, 5, 7), []byte{0xc4, 0xe2, 0x42, 0x5c, 0xdd}},                                                 // tdpbf16ps %tmm7, %tmm5, %tmm3
		{tdpbf16ps(7, 1, 0), []byte{0xc4, 0xe2, 0x7a, 0x5c, 0xf9}},                                                 // tdpbf16ps %tmm0, %tmm1, %tmm7
	} {
		if !bytes.Equal(c.got, c.want) {
			t.Errorf("% x, want % x", c.got, c.want)
		}
	}
}

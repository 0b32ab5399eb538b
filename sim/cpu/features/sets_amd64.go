package features

import "golang.org/x/sys/cpu"

// sets lists the x86-64 instruction sets. The flags already account for the
// operating system: x/sys/cpu reports a set only when its registers are saved.
func sets() []set {
	x := cpu.X86
	return []set{
		{"amx", amx()},
		{"avx512-bf16", []requirement{{"avx512f", x.HasAVX512F}, {"avx512bw", x.HasAVX512BW}, {"avx512_bf16", x.HasAVX512BF16}}},
		{"avx512", []requirement{
			{"avx512f", x.HasAVX512F}, {"avx512dq", x.HasAVX512DQ},
			{"avx512bw", x.HasAVX512BW}, {"avx512vl", x.HasAVX512VL},
		}},
		{"avx2", []requirement{{"avx2", x.HasAVX2}, {"fma", x.HasFMA}}},
	}
}

// amx lists the flags required for products of bfloat16 tiles.
func amx() []requirement {
	return []requirement{{"amx-tile", cpu.X86.HasAMXTile}, {"amx-bf16", cpu.X86.HasAMXBF16}}
}

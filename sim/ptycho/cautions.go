package ptycho

import "prismtop/profiles"

// Cautions are what to say beside the values of the setting amp that are slower on a device with these kernels.
func Cautions(device, kernels string) (all []profiles.Caution) {
	slower := func(mode, why string) {
		all = append(all, profiles.Caution{When: profiles.When{Setting: "amp", Value: mode}, Text: "slower: " + why})
	}
	switch {
	case device != "cpu":
		if kernels == "sm_75" {
			slower(string(BF16), "without matrix instructions before compute capability 8.0")
			slower(string(BF16x3), "without matrix instructions before compute capability 8.0")
		}
		return all
	case kernels != "amx" && kernels != "avx512-bf16":
		slower(string(BF16), "emulated by these kernels")
	}
	if kernels != "amx" {
		slower(string(BF16x3), "emulated without AMX")
	}
	return all
}

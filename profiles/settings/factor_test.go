package settings_test

import (
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/settings"
	"prismtop/sim/curve"
	"prismtop/sim/prism"
)

func namesOf(factors []settings.Factor) (names []string) {
	for _, f := range factors {
		names = append(names, f.Name)
	}
	return names
}

// The factors on offer are the compared pairs of values, and those that join several settings.
func TestTablesOfferFactors(t *testing.T) {
	want := []string{"caches", "measurement_cache", "fft_cache", "mask_cache", "shared_spectrum", "fused_telescope", "pruned_fft",
		"fused_optimizer", "checkpointing", "amp=bf16", "amp=bf16x3", "amp=fp16"}
	offered := prism.Table.Factors()
	if got := namesOf(offered); !slices.Equal(got, want) {
		t.Errorf("PRISM offers %q", got)
	}
	if got := offered[0].Text(); got != "measurement_cache, fft_cache, mask_cache" {
		t.Errorf("caches are %q", got)
	}
	if got := offered[9].Text(); got != "amp off → bf16" {
		t.Errorf("amp=bf16 is %q", got)
	}
	if got := namesOf(curve.Table.Factors()); !slices.Equal(got, []string{"basis_cache", "fused_residue"}) {
		t.Errorf("the curve offers %q", got)
	}
}

// The default choice of every workload is one that can be run.
func TestDefaultFactors(t *testing.T) {
	for want, table := range map[string]*settings.Table{
		"caches fused_telescope pruned_fft amp=bf16": prism.Table, "basis_cache fused_residue": curve.Table,
	} {
		factors, err := table.ParseFactors([]string{settings.DefaultFactors})
		if got := strings.Join(namesOf(factors), " "); err != nil || got != want {
			t.Errorf("%s: %q, %v", table.Workload, got, err)
		}
		for _, f := range factors {
			for _, sets := range [][]settings.Assignment{f.Off, f.On} {
				for _, a := range sets {
					k, ok := table.Lookup(a.Key)
					pair := slices.ContainsFunc(k.Compared.Pairs, func(p settings.Pair) bool { return p.Off == a.Value || p.On == a.Value })
					if !ok || !k.Live || !pair {
						t.Errorf("%s: %s = %s is not a compared value", table.Workload, a.Key, a.Value)
					}
				}
			}
		}
	}
}

func TestParseFactors(t *testing.T) {
	for names, want := range map[string]string{
		"pruned_fft,caches":    "caches pruned_fft",
		"amp,fft_cache":        "fft_cache amp=bf16",
		"amp=fp16,fft_cache":   "fft_cache amp=fp16",
		"mask_cache,fft_cache": "fft_cache mask_cache",
		"radios,amp":           `error "radios": unknown: must be some of caches, measurement_cache`,
		"threads,amp":          `error "threads": an ablation does not switch it: must be some of caches`,
		"caches,fft_cache":     `error "fft_cache": caches switches the same setting`,
		"amp=bf16,amp=fp16":    `error "amp=fp16": amp=bf16 switches the same setting`,
		"amp,amp":              `error "amp": named twice`,
		"amp":                  `error 1 named: must be 2 to 5 of caches`,
		"":                     `error "": unknown`,
		"default,amp":          `error "default": names all by itself`,
		"measurement_cache,fft_cache,mask_cache,shared_spectrum,pruned_fft,amp": `error 6 named: must be 2 to 5`,
	} {
		factors, err := prism.Table.ParseFactors(strings.Split(names, ","))
		got := strings.Join(namesOf(factors), " ")
		if err != nil {
			got = "error " + err.Error()
		}
		if got != want && !(strings.HasPrefix(want, "error") && strings.HasPrefix(got, want)) {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
}

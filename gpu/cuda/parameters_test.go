package cuda

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"prismtop/gpu/kernels"
)

// parameters are the Go twins of the kernels' parameters, by the kernel's name or, with a star, the first part of it.
var parameters = map[string]any{
	"adam_most": adamP{}, "adam_update": adamP{}, "unscale": unscaleP{}, "convert": convertP{}, "program": programP{},
	"gather": gatherP{}, "fill": fillP{}, "unary": unaryP{}, "slopes": slopeP{}, "sum": sumP{},
	"place": placeP{}, "blocks": blocksP{}, "inset": insetP{}, "halves": halvesP{},
	"norm_any": normP{}, "norm_apply": normP{}, "norm_channel": normP{}, "norm_finish": normP{}, "norm_parts": normP{}, "norm_running*": normP{},
	"norm_grad_*": normGradP{},

	"conv_gather_any": convAnyP{}, "conv_scatter_any": convAnyP{}, "conv_weights_any": convAnyP{}, "conv_bias_grad*": convBiasGradP{}, "conv_few*": convFewP{},
	"conv_f32_*": convTileP{}, "conv_half_*": convTileP{}, "conv_rounded_*": convTileP{}, "conv_wide16_*": convTileP{},
	"conv_row*": convDenseP{}, "conv_column*": convDenseP{}, "conv_outer": convDenseP{}, "conv_outer_adam*": convOuterAdamP{},
	"conv_finish": convFinishP{}, "conv_sums": convSumsP{},

	"fft_any": dftP{}, "fft_columns": fftP{}, "fft_rows": fftP{}, "mask_multiply": maskP{},
	"modulus_flip": modulusP{}, "modulus_flip_grad": modulusGradP{},
	"measure_rows*": measureRowsP{}, "measure_columns*": measureColumnsP{}, "measure_loss*": measureLossP{}, "measure_total": measureTotalP{},
	"measure_back_columns*": measureBackP{}, "measure_back_rows*": measureBackRowsP{},
	"amplitude_rows*": amplitudeRowsP{}, "amplitude_back_rows*": amplitudeBackP{},
	"loss_sums": lossSumsP{}, "loss_total": lossTotalP{}, "loss_grad": lossGradP{},
	"polar": polarP{}, "polar_grad": polarGradP{}, "sum_patches": patchesP{}, "extract_patches": patchesP{}, "divide_by_coverage": coverageP{},
	"probe_multiply": probeP{}, "intensity*": intensityP{}, "exp_scale": expScaleP{}, "terms": termsP{}, "terms_total": termsTotalP{}, "poisson_grad": poissonGradP{},
	"volume_f32_*": volumeP{}, "volume_half_*": volumeP{}, "volume_wide16_*": volumeP{},
	"instance_apply": instanceP{}, "instance_sums": instanceP{}, "instance_total": instanceP{}, "instance_grad_*": instanceGradP{},
	"dice_sums": diceSumsP{}, "dice_total": diceTotalP{}, "dice_grad": diceGradP{},
	"ssim_maps": ssimMapsP{}, "ssim_grad": ssimGradP{}, "ssim_pool": ssimPoolP{}, "ssim_total": ssimTotalP{},
}

// entry is the declaration of a kernel with the size of its only parameter.
var entry = regexp.MustCompile(`\.visible \.entry (\w+)\(\s*\.param \.align \d+ \.b8 \w+\[(\d+)\]\s*\)`)

// The structs that Go passes to the kernels have the sizes that the kernels were compiled for.
func TestParametersHaveTheSizesOfTheKernels(t *testing.T) {
	used := map[string]bool{}
	for _, set := range kernels.Sets() {
		modules, err := set.Modules()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range modules {
			found := map[string]string{}
			for _, match := range entry.FindAllStringSubmatch(string(m.Text), -1) {
				found[match[1]] = match[2]
			}
			for _, kernel := range m.Kernels() {
				if strings.HasPrefix(kernel, "roof_") {
					continue // of package check
				}
				size, ok := found[kernel]
				if !ok {
					t.Errorf("%s %s: kernel %s has not exactly one parameter, a struct", set.Name, m.Name, kernel)
					continue
				}
				name, p := parameterOf(kernel)
				if p == nil {
					t.Errorf("%s %s: no parameter for kernel %s is listed", set.Name, m.Name, kernel)
					continue
				}
				used[name] = true
				if have := strconv.Itoa(int(reflect.TypeOf(p).Size())); have != size {
					t.Errorf("%s: kernel %s has a parameter of %s bytes, %T has %s", set.Name, kernel, size, p, have)
				}
			}
		}
	}
	for name := range parameters {
		if !used[name] {
			t.Errorf("there is no kernel %s", name)
		}
	}
}

// parameterOf returns the entry of a kernel with the longest name, nil if there is none.
func parameterOf(kernel string) (name string, p any) {
	if p, ok := parameters[kernel]; ok {
		return kernel, p
	}
	for pattern, value := range parameters {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(kernel, prefix) && len(pattern) > len(name) {
			name, p = pattern, value
		}
	}
	return name, p
}

package cyto

import (
	"fmt"
	"strings"

	"prismtop/sim/weights"
)

// Names are the names of the network's arrays in other programs: those of MONAI's DynUNet, which CytoDL's
// checkpoints have after the prefix backbone.
func (n *Network) Names() []weights.Names {
	levels := len(n.config.Filters)
	monai := weights.Names{Key: "monai", Program: "MONAI's DynUNet"}
	for _, p := range n.parameters {
		block, rest, _ := strings.Cut(p.Name, ".")
		rest = strings.Replace(rest, ".weight", ".conv.weight", 1) // of a convolution, which MONAI wraps
		if strings.HasPrefix(rest, "norm") {
			rest = strings.Replace(rest, ".conv.weight", ".weight", 1)
		}
		at, twin := dynUNet(block, levels)
		switch {
		case block == "out":
			rest = "conv.conv." + rest
		case rest == "up.conv.weight":
			rest = "transp_conv.conv.weight"
		case strings.HasPrefix(block, "up"):
			rest = "conv_block." + rest
		}
		a := weights.Alias{Name: at + "." + rest}
		if twin != "" {
			a.Twins = []string{twin + "." + rest}
		}
		monai.Arrays = append(monai.Arrays, a)
	}
	return []weights.Names{monai}
}

// dynUNet is the module of a block, and the one under which the nested layers of skips have it again.
func dynUNet(block string, levels int) (module, twin string) {
	var i int
	nested := func(depth int) string { return "skip_layers" + strings.Repeat(".next_layer", depth) }
	switch {
	case block == "out":
		return "output_block", ""
	case block == "inp":
		return "input_block", nested(0) + ".downsample"
	case block == "bottle":
		return "bottleneck", nested(levels - 1)
	case block == "down":
		i = 1
	case strings.HasPrefix(block, "down"):
		_, _ = fmt.Sscanf(block, "down%d", &i)
	default:
		_, _ = fmt.Sscanf(block, "up%d", &i)
		return fmt.Sprintf("upsamples.%d", i), nested(levels-2-i) + ".upsample"
	}
	return fmt.Sprintf("downsamples.%d", i-1), nested(i) + ".downsample"
}

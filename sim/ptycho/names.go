package ptycho

import (
	"cmp"
	_ "embed" // KerasScript
	"fmt"
	"strings"

	"prismtop/sim/weights"
)

// KerasScript converts PtychoPINN's Keras models, which are HDF5 in a zip archive, to the names of keras, and back: a
// program in Python.
//
//go:embed keras.py
var KerasScript string

// Names are the names of the network's arrays in those of PtychoPINN's programs that have this network: its Keras
// model, as the script of prismtop weights keras writes them, and its port to PyTorch.
func (n *Network) Names() (all []weights.Names) {
	for i, names := range n.programs() {
		as := n.config
		as.Heads = HeadKinds()[i]
		channels, filters := as.border()
		if c, f := n.config.border(); c == channels && f == filters {
			all = append(all, names)
		}
	}
	return all
}

// programs are the names in both programs, in the order of HeadKinds.
func (n *Network) programs() []weights.Names { return []weights.Names{n.keras(), n.port()} }

// keras numbers the convolutions as PtychoPINN creates them: in each head the last ones come before the
// decoder. Kernels are [row, column, in, out].
func (n *Network) keras() weights.Names {
	s := stages[n.config.Size]
	var order []string
	pairs := func(prefix string, count int) {
		for i := range count {
			order = append(order, fmt.Sprintf("%s.%d.a", prefix, i), fmt.Sprintf("%s.%d.b", prefix, i))
		}
	}
	pairs("enc", len(s.encoder))
	for _, head := range []string{"amp", "phase"} {
		order = append(order, head+".inner")
		if n.config.ProbeBig {
			order = append(order, head+".outer_c")
		}
		pairs(head+".stages", len(s.decoder))
		if n.config.ProbeBig {
			order = append(order, head+".outer_a", head+".outer_b")
		}
	}
	numbered := map[string]string{}
	for i, name := range order {
		numbered[name] = "conv2d"
		if i > 0 {
			numbered[name] = fmt.Sprintf("conv2d_%d", i)
		}
	}
	names := weights.Names{Key: "keras", Program: "PtychoPINN's Keras model", Refused: n.refusedShape("conv2d")}
	for _, c := range n.convs {
		names.Arrays = append(names.Arrays,
			weights.Alias{Name: numbered[c.name] + "/kernel", Axes: []int{2, 3, 1, 0}},
			weights.Alias{Name: numbered[c.name] + "/bias"})
	}
	names.Arrays = append(names.Arrays, weights.Alias{Name: scaleParameter})
	return names
}

// port has the names of ptycho_torch, whose trained models put model. before them.
func (n *Network) port() weights.Names {
	names := weights.Names{
		Key: "ptycho_torch", Program: "ptycho_torch", Refused: n.refusedShape(""),
		Ignored: func(name string) bool { return strings.HasPrefix(name, "forward_model.") }, // of its training
	}
	for _, c := range n.convs {
		at := portOf(c.name)
		names.Arrays = append(names.Arrays, weights.Alias{Name: at + ".weight"}, weights.Alias{Name: at + ".bias"})
	}
	names.Arrays = append(names.Arrays, weights.Alias{Name: "scaler.log_scale"})
	return names
}

// portOf is the module of a convolution in ptycho_torch.
func portOf(name string) string {
	part := strings.Split(name, ".")
	pair := map[string]string{"a": "conv1", "b": "conv2"}
	switch {
	case part[0] == "enc":
		return "autoencoder.encoder.blocks." + part[1] + "." + pair[part[2]]
	case part[1] == "stages":
		return "autoencoder.decoder_" + part[0] + ".blocks." + part[2] + "." + pair[part[3]]
	}
	return "autoencoder.decoder_" + part[0] + "." + part[0] + "." +
		map[string]string{"inner": "conv1", "outer_a": "conv_up_block.conv1", "outer_b": "conv_up_block.conv2",
			"outer_c": "conv2"}[part[1]]
}

// refusedOwn names the setting by which a network differs that was saved under the names of StateDict.
func (n *Network) refusedOwn(name string, shape []int64) string {
	if len(shape) != 4 {
		return ""
	}
	if name == "enc.0.a.weight" {
		return n.otherEncoder(shape[0], shape[1])
	}
	decoder := stages[n.config.Size].decoder
	last := decoder[len(decoder)-1] * n.config.FiltersScale // its channels, of the border and others
	for _, kind := range HeadKinds() {
		as := n.config
		as.Heads = kind
		channels, filters := as.border()
		theirs := map[string][2]int{"amp.inner.weight": {as.Channels(), last - channels},
			"amp.outer_a.weight": {filters, channels}}[name]
		if kind != cmp.Or(n.config.Heads, HeadKinds()[0]) && shape[0] == int64(theirs[0]) &&
			shape[1] == int64(theirs[1]) {
			return "heads = " + kind + " has them"
		}
	}
	return ""
}

// otherEncoder names the setting by which the first convolution of another network differs.
func (n *Network) otherEncoder(out, in int64) string {
	for g := range int64(maxGridSize) {
		if g++; in == g*g && in != int64(n.config.Channels()) {
			return fmt.Sprintf("it is of a network with gridsize = %d", g)
		}
	}
	if first := int64(FirstFilters(n.config.Size)); in == int64(n.config.Channels()) && out%first == 0 {
		return fmt.Sprintf("it is of a network with filters_scale = %d, or of another size than %d", out/first,
			n.config.Size)
	}
	return ""
}

// refusedShape names the field of PtychoPINN's configuration by which a network differs.
func (n *Network) refusedShape(kind string) func(string, []int64) string {
	last := "conv2d_" // of the heads
	return func(name string, shape []int64) string {
		for part, field := range map[string]string{
			".attention.": "cbam_encoder or eca_encoder is set; a network without attention is needed",
			".bn":         "batch_norm is set", "bottleneck_cbam": "cbam_bottleneck is set",
			"decoder_shared": "use_shared_decoder is set", ".attention_blocks.": "an attention of the decoder is set",
		} {
			if strings.Contains(name, part) {
				return field
			}
		}
		switch {
		case len(shape) == 4 && name == kind+"/kernel":
			return n.otherEncoder(shape[3], shape[2])
		case len(shape) == 4 && strings.HasSuffix(name, "autoencoder.encoder.blocks.0.conv1.weight"):
			return n.otherEncoder(shape[0], shape[1])
		}
		out := int64(-1)
		if len(shape) == 4 && kind == "" {
			out = shape[0]
		} else if len(shape) == 4 && strings.HasPrefix(name, last) {
			out = shape[3]
		}
		switch {
		case n.config.Channels() > 1 && out == 1:
			return "object_big = false draws one channel; must be true"
		case strings.Contains(name, "_amp.amp.conv") || strings.Contains(name, "_phase.phase.conv"):
			if n.config.Heads != headsOfPort {
				return "its heads draw the border as those of ptycho_torch at gridsize 1 and at sizes " +
					"above 64; heads = ptycho_torch has them"
			}
			return "its heads draw the border as those of the Keras model, which heads = keras has, or with " +
				"use_legacy_decoder_channel_override"
		}
		return ""
	}
}

package loader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"prismtop/sim/cyto"
	"prismtop/sim/cyto/stack"
)

// Item is a pair of files. A channel is a number from 0 or a name; an empty one is the
// only channel of a file, or that of CytoDL's experiment.
type Item struct {
	Image, Target               string // paths; no Target for predictions
	ImageChannel, TargetChannel string
	From                        string // the list and the line that name them, as list.csv:2; empty for none
}

// FileOptions are how files become pairs (§B2).
type FileOptions struct {
	Zoom   float64 // of all sides, 1 if 0; CytoDL's experiments have CytoZoom
	Signal bool    // targets are normalised like images, instead of being masks: 1 from 0.1 on

	// Planar takes one plane along Z out of every file. CytoDL's experiments in two
	// dimensions have CytoPlane.
	Planar bool
	Plane  int // counted from 0
}

// The constants of CytoDL's experiments (§B2).
const (
	CytoZoom  = 0.25
	CytoPlane = 38
)

// cytoChannels are the channels of image and target in CytoDL's experiments (§B2): the
// nuclear dye and a file's only channel, or brightfield and the dye.
func (o *FileOptions) cytoChannels() (image, target int) {
	if o.Signal {
		return 6, 5
	}
	return 5, 0
}

// channelOf finds the channel that a setting names among those of a file.
func channelOf(setting, text string, standard, channels int, names []string) (int, error) {
	if text == "" {
		switch {
		case channels == 1:
			return 0, nil
		case standard < channels:
			return standard, nil
		}
		return 0, fmt.Errorf("%d channels%s: one must be chosen (setting %s)", channels, listed(names), setting)
	}
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 || n >= channels {
			return 0, fmt.Errorf("%w (setting %s)", &stack.SelectionError{What: "channel", Index: n, Count: channels},
				setting)
		}
		return n, nil
	}
	if i := slices.Index(names, text); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("no channel %q among its %d%s (setting %s)", text, channels, listed(names), setting)
}

// listed lists the names of channels, nothing if they have none.
func listed(names []string) string {
	if !slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
		return ""
	}
	return fmt.Sprintf(" %q", names)
}

// files reads pairs from files.
type files struct {
	items []Item
	o     FileOptions
}

// Files is a dataset of files, read at every access; Cached reads each once.
func Files(items []Item, o FileOptions) (Dataset, error) {
	if o.Zoom == 0 {
		o.Zoom = 1
	}
	if !(o.Zoom > 0 && o.Zoom <= 1) {
		return nil, fmt.Errorf("zoom of %g: must be above 0 and at most 1", o.Zoom)
	}
	return &files{items, o}, nil
}

// Len is the number of pairs.
func (d *files) Len() int { return len(d.items) }

// Name is the path of the image.
func (d *files) Name(i int) string { return d.items[i].Image }

// Load reads a pair. An image and a target that are channels of one file are read together. Errors name the file, the
// line of the list that names it, and the setting of a channel or a plane that the file does not have.
func (d *files) Load(ctx context.Context, i int) (cyto.Pair, int64, error) {
	item := d.items[i]
	pair, read, err := d.load(ctx, item)
	if err != nil && item.From != "" && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", item.From, err)
	}
	return pair, read, err
}

// named adds the setting to an error about a plane of a file.
func named(err error) error {
	var wrong *stack.SelectionError
	if !errors.As(err, &wrong) || wrong.What != "plane" {
		return err
	}
	return fmt.Errorf("%w (setting plane)", err)
}

func (d *files) load(ctx context.Context, item Item) (cyto.Pair, int64, error) {
	imageStandard, targetStandard := d.o.cytoChannels()
	both := item.Target == item.Image
	var options stack.ReadOptions
	options.Choose = func(channels int, names []string) ([]int, error) {
		image, err := channelOf("image_channel", item.ImageChannel, imageStandard, channels, names)
		if err != nil || !both {
			return []int{image}, err
		}
		target, err := channelOf("target_channel", item.TargetChannel, targetStandard, channels, names)
		return []int{image, target}, err
	}
	if d.o.Planar {
		options.Planes = []int{d.o.Plane}
	}
	source, err := stack.Read(ctx, item.Image, options)
	if err != nil {
		return cyto.Pair{}, 0, named(err)
	}
	read := source.Bytes
	pair := cyto.Pair{From: &cyto.Origin{Sides: [3]int(source.Sides[1:]), Voxel: source.Voxel,
		Channel: source.Channels[0]}}
	if pair.Image, err = d.prepare(ctx, item.Image, source, 0, true); err != nil {
		return cyto.Pair{}, read, err
	}
	if item.Target == "" {
		return pair, read, nil
	}
	from, channel := source, 1
	if !both {
		options.Choose = func(channels int, names []string) ([]int, error) {
			target, err := channelOf("target_channel", item.TargetChannel, targetStandard, channels, names)
			return []int{target}, err
		}
		if from, err = stack.Read(ctx, item.Target, options); err != nil {
			return cyto.Pair{}, read, named(err)
		}
		read += from.Bytes
		channel = 0
	}
	if pair.Target, err = d.prepare(ctx, item.Target, from, channel, d.o.Signal); err != nil {
		return cyto.Pair{}, read, err
	}
	if pair.Image.Sides != pair.Target.Sides {
		return cyto.Pair{}, read, fmt.Errorf("%s has sides %v, its target %s %v: must be the same", item.Image,
			source.Sides[1:], item.Target, from.Sides[1:])
	}
	return pair, read, nil
}

// prepare makes an image of a channel: smaller, and normalised or a mask.
func (d *files) prepare(ctx context.Context, path string, v *stack.Volume, channel int, normalise bool) (cyto.Image,
	error) {
	image, err := cyto.Zoom(ctx, cyto.Image{Sides: [3]int(v.Sides[1:]), Values: v.Channel(channel)}, d.o.Zoom)
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return cyto.Image{}, ended
		}
		return cyto.Image{}, fmt.Errorf("%s: %w", path, err)
	}
	for i, x := range image.Values {
		if math.Float32bits(x)>>23&0xff == 0xff { // faster than math.IsNaN and math.IsInf
			return cyto.Image{}, fmt.Errorf("%s: voxel %d is %g: must be finite", path, i, x)
		}
	}
	if normalise {
		cyto.Normalise(image.Values)
	} else {
		cyto.Mask(image.Values)
	}
	return image, nil
}

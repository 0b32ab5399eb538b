package im2im

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"prismtop/profiles/settings"
	"prismtop/sim/cyto"
	"prismtop/sim/cyto/loader"
)

// Inputs are the images of an experiment.
type Inputs struct {
	name    string
	train   loader.Dataset // nil for a prediction
	heldOut loader.Dataset // what training is measured on, or what is predicted
	targets bool           // heldOut has them
	files   bool           // the images are of files
}

// Name returns what files of the result are named after.
func (i *Inputs) Name() string { return i.name }

// cacheLimit bounds the memory of images that were read from files.
const cacheLimit = 1 << 30

// inputs are the settings that name the images.
func (s *Settings) inputs() Settings {
	return Settings{
		Mode: s.Mode, Experiment: s.Experiment, Axes: s.Axes, Data: s.Data, CacheImages: s.CacheImages, Zoom: s.Zoom,
		Plane:       s.Plane,
		ImageColumn: s.ImageColumn, TargetColumn: s.TargetColumn, ImageChannel: s.ImageChannel,
		TargetChannel: s.TargetChannel,
		Volumes:       s.Volumes, HeldOut: s.HeldOut, Depth: s.Depth, Side: s.Side, Cells: s.Cells, Noise: s.Noise,
		Seed: s.Seed,
	}
}

// load draws or lists the images.
func (s *Settings) load(ctx context.Context) (*Inputs, error) {
	if s.Data != "" {
		in, err := s.files(ctx)
		if err != nil && ctx.Err() == nil {
			return nil, &settings.KeyError{Key: "data", Err: fmt.Errorf("data = %s: %w", s.Data, err)}
		}
		return in, err
	}
	in := &Inputs{name: "cells", targets: true}
	var err error
	if in.heldOut, err = loader.Synthetic(ctx, s.synthetic(true)); err != nil {
		return nil, err
	}
	if s.Mode == Train {
		in.train, err = loader.Synthetic(ctx, s.synthetic(false))
	}
	return in, err
}

// list says how lists of files are read.
func (s *Settings) list() loader.ListOptions {
	return loader.ListOptions{
		LabelFree: s.Experiment == LabelFree, ImageColumn: s.ImageColumn, TargetColumn: s.TargetColumn,
		ImageChannel: s.ImageChannel, TargetChannel: s.TargetChannel,
	}
}

// Files returns the files that the setting data leads to, as far as they can be listed: lists, and the
// images and targets in them.
func Files(ctx context.Context, v settings.Values) (paths []string) {
	s := From(v)
	paths = append(paths, s.Data)
	lists, _ := loader.Lists(s.Data)
	paths = append(paths, lists...)
	var items []loader.Item
	if s.Mode == Train {
		splits, _ := loader.ReadSplits(ctx, s.Data, s.list())
		items = slices.Concat(splits.Train, splits.Valid, splits.Test)
	} else {
		items, _ = loader.Images(ctx, s.Data, s.list())
	}
	for _, item := range items {
		paths = append(paths, item.Image)
		if item.Target != "" {
			paths = append(paths, item.Target)
		}
	}
	return paths
}

// nameOf returns the name of a folder or a file without its ending. That of "." is the name of the folder it stands
// for.
func nameOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	base := filepath.Base(path)
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}

// files lists the files of a folder, a list or an image.
func (s *Settings) files(ctx context.Context) (*Inputs, error) {
	in := &Inputs{name: nameOf(s.Data), targets: true, files: true}
	if s.Mode == Train {
		splits, err := loader.ReadSplits(ctx, s.Data, s.list())
		switch {
		case err != nil:
			return nil, err
		case len(splits.Valid) == 0:
			return nil, errors.New("valid.csv lists no pair of files: a training is measured on held-out images")
		}
		if in.train, err = s.dataset(splits.Train); err == nil {
			in.heldOut, err = s.dataset(splits.Valid)
		}
		return in, err
	}
	items, err := loader.Images(ctx, s.Data, s.list())
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		in.targets = in.targets && item.Target != ""
	}
	in.heldOut, err = s.dataset(items)
	return in, err
}

func (s *Settings) dataset(items []loader.Item) (loader.Dataset, error) {
	d, err := loader.Files(items, loader.FileOptions{Zoom: s.Zoom, Signal: s.Experiment == LabelFree,
		Planar: s.Axes == 2, Plane: s.Plane})
	if err != nil || !s.CacheImages {
		return d, err
	}
	return loader.Cached(d, cacheLimit), nil
}

// pairs returns the held-out images, bounded in number.
func (i *Inputs) pairs(ctx context.Context, most int) ([]cyto.Pair, error) {
	var all []cyto.Pair
	for k := range min(i.heldOut.Len(), most) {
		p, _, err := i.heldOut.Load(ctx, k)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

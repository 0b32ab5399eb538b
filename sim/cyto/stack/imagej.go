package stack

import (
	"fmt"
	"strconv"
	"strings"

	"prismtop/sim/tiff"
)

// arrangeImageJ reads the description that ImageJ writes: lines such as channels=2. Pages
// are in the order of channels, slices, frames.
func arrangeImageJ(text string, pages int, first *tiff.Page) (*arrangement, error) {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = value
		}
	}
	count := func(key string, missing int) (int, error) {
		value, ok := values[key]
		if !ok {
			return missing, nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > tiff.MaxPages {
			return 0, fmt.Errorf("%s=%q: must be 1 to %d", key, value, tiff.MaxPages)
		}
		return n, nil
	}
	images, err := count("images", 1)
	if err != nil {
		return nil, err
	}
	if images > pages {
		return nil, fmt.Errorf("images=%d, but the file has %d pages: ImageJ's stacks of more than 4 GB are not read",
			images, pages)
	}
	var sizes [3]int
	for i, key := range []string{"channels", "slices", "frames"} {
		if sizes[i], err = count(key, 1); err != nil {
			return nil, err
		}
	}
	if images == 1 && pages > 1 && sizes == [3]int{1, 1, 1} {
		images = pages
	}
	if sizes == [3]int{1, 1, 1} {
		sizes[1] = images
	}
	groups := sizes[0]
	if first.Samples > 1 && groups == first.Samples {
		groups = 1 // an RGB page has all channels
	}
	if n := int64(groups) * int64(sizes[1]) * int64(sizes[2]); n != int64(images) {
		return nil, fmt.Errorf("channels=%d, slices=%d, frames=%d: must be the %d images", sizes[0], sizes[1],
			sizes[2], images)
	}
	a := &arrangement{extent: extent{channels: groups * first.Samples, planes: sizes[1], times: sizes[2]}}
	a.page = func(channel, plane, time int) (int, int, error) {
		group := channel / first.Samples
		return (time*sizes[1]+plane)*groups + group, group * first.Samples, nil
	}
	return a, a.imageJVoxel(values, first)
}

// imageJVoxel reads the sides of voxels: spacing is along Z; the resolutions of the page
// are pixels per unit.
func (a *arrangement) imageJVoxel(values map[string]string, first *tiff.Page) error {
	unit := strings.ReplaceAll(values["unit"], `\u00B5`, "µ") // as ImageJ writes it
	factor := micrometres[unit]
	if unit == "micron" || unit == "microns" {
		factor = 1
	}
	if unit == "" || factor == 0 {
		return nil
	}
	if z, err := strconv.ParseFloat(values["spacing"], 64); err == nil && z > 0 {
		a.voxel[0] = z * factor
	}
	for i, tag := range []uint16{tiff.YResolution, tiff.XResolution} {
		perUnit, err := first.Fraction(tag)
		if err != nil {
			return err
		}
		if perUnit > 0 {
			a.voxel[1+i] = factor / perUnit
		}
	}
	return nil
}

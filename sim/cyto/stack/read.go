package stack

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/sim/tiff"
)

// arrangement says which page has which plane of a stack.
type arrangement struct {
	extent
	voxel [3]float64 // micrometres along Z, Y and X
	// page returns the index of the page with a plane, in which the channels from first on
	// are the samples of a pixel.
	page func(channel, plane, time int) (index, first int, err error)
}

// decodeTIFF reads a stack of pages.
func decodeTIFF(ctx context.Context, name string, r io.ReaderAt, size int64, o ReadOptions) (*Volume, error) {
	t, err := tiff.Open(r, size)
	if err != nil {
		return nil, fmt.Errorf("TIFF: %w", err)
	}
	v, err := volume(ctx, t, name, o)
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, fmt.Errorf("TIFF: %w", err)
	}
	v.Bytes = t.BytesRead()
	return v, nil
}

func volume(ctx context.Context, t *tiff.File, name string, o ReadOptions) (*Volume, error) {
	pages, err := t.Pages(ctx)
	if err != nil {
		return nil, err
	}
	first, err := t.Page(0)
	if err != nil {
		return nil, err
	}
	a, err := arrange(ctx, t, pages, first, name)
	if err != nil {
		return nil, err
	}
	a.height, a.width, a.room = first.Height, first.Width, first.Room()
	v, channels, planes, err := a.volume(o)
	if err != nil {
		return nil, err
	}
	v.Type, v.Voxel = first.Kind(), a.voxel
	return v, fill(ctx, t, v, a, pages, first, channels, planes, o.Time)
}

// fill decodes the selected planes, every page once.
func fill(ctx context.Context, t *tiff.File, v *Volume, a *arrangement, pages int, first *tiff.Page, channels,
	planes []int, time int) error {
	type job struct {
		page int
		dst  [][]float32
	}
	var jobs []job
	byPage := make(map[int]int)
	size := first.Height * first.Width
	for ci, c := range channels {
		for zi, z := range planes {
			index, start, err := a.page(c, z, time)
			if err != nil {
				return err
			}
			if index >= pages {
				return fmt.Errorf("channel %d, plane %d, time %d are on page %d: the file has %d", c, z, time,
					index+1, pages)
			}
			dst := v.Values[(ci*len(planes)+zi)*size:][:size]
			j, known := byPage[index]
			if !known || jobs[j].dst[c-start] != nil {
				j = len(jobs)
				byPage[index] = j
				jobs = append(jobs, job{index, make([][]float32, first.Samples)})
			}
			jobs[j].dst[c-start] = dst
		}
	}
	for _, j := range jobs {
		p := first
		if j.page != 0 {
			var err error
			if p, err = t.Page(j.page); err != nil {
				return err
			}
		}
		if err := p.Matches(first); err != nil {
			return err
		}
		if err := p.Decode(ctx, j.dst); err != nil {
			return err
		}
	}
	return nil
}

// arrange finds out what the pages are: what OME-XML or ImageJ's description on the first
// page say, or else the planes of one channel per sample. name is the file's.
func arrange(ctx context.Context, t *tiff.File, pages int, first *tiff.Page, name string) (*arrangement, error) {
	text, err := first.Text(tiff.Description)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), "<") &&
		strings.Contains(text, "<OME"), strings.Contains(text, "<OME:OME"):
		a, err := arrangeOME(text, name, first)
		if err != nil {
			err = first.Fault(tiff.Description, "OME-XML: %w", err)
		}
		return a, err
	case strings.HasPrefix(text, "ImageJ="):
		a, err := arrangeImageJ(text, pages, first)
		if err != nil {
			err = first.Fault(tiff.Description, "ImageJ: %w", err)
		}
		return a, err
	}
	return arrangePlain(ctx, t, pages, first)
}

// arrangePlain takes pages as planes along Z and samples as channels. Thumbnails and masks
// are skipped.
func arrangePlain(ctx context.Context, t *tiff.File, pages int, first *tiff.Page) (*arrangement, error) {
	var full []int
	for i := range pages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := t.Directory(i)
		if err != nil {
			return nil, err
		}
		reduced, err := d.Reduced()
		if err != nil {
			return nil, err
		}
		if !reduced || i == 0 {
			full = append(full, i)
		}
	}
	a := &arrangement{extent: extent{channels: first.Samples, planes: len(full), times: 1}}
	a.page = func(_, plane, _ int) (int, int, error) { return full[plane], 0, nil }
	return a, nil
}

// Note returns the description of an OME-TIFF's first image. Other files are an error, and
// so, with the description, are those that are not whole. If ctx ends first, its error is
// returned.
func Note(ctx context.Context, path string) (string, error) {
	note, err := await.Result(ctx, func() (string, error) {
		f, info, err := inputfile.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		r := inputfile.ReaderAt{Context: ctx, Source: f}
		head := make([]byte, 8)
		if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if !tiff.Is(head) {
			return "", errNotOME
		}
		t, err := tiff.Open(r, info.Size())
		if err != nil {
			return "", err
		}
		return note(ctx, t)
	})
	if err != nil {
		return note, fmt.Errorf("%s: %w", path, err)
	}
	return note, nil
}

var errNotOME = errors.New("must be OME-TIFF")

func note(ctx context.Context, t *tiff.File) (note string, err error) {
	pages, err := t.Pages(ctx)
	if err != nil {
		return "", err
	}
	var doc omeXML
	for i := range pages {
		p, err := t.Page(i)
		if err != nil {
			return note, err
		}
		if i == 0 {
			text, err := p.Text(tiff.Description)
			if err != nil {
				return "", err
			}
			if err := xml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Images) == 0 {
				return "", errNotOME
			}
			note = doc.Images[0].Note
		}
		if err := p.Whole(); err != nil {
			return note, err
		}
	}
	return note, nil
}

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
	t, err := openTIFF(r, size)
	if err != nil {
		return nil, fmt.Errorf("TIFF: %w", err)
	}
	v, err := t.volume(ctx, name, o)
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, fmt.Errorf("TIFF: %w", err)
	}
	v.Bytes = t.read
	return v, nil
}

func (t *tiff) volume(ctx context.Context, name string, o ReadOptions) (*Volume, error) {
	pages, err := t.pages(ctx)
	if err != nil {
		return nil, err
	}
	first, err := t.page(pages, 0)
	if err != nil {
		return nil, err
	}
	a, err := t.arrange(ctx, pages, first, name)
	if err != nil {
		return nil, err
	}
	a.height, a.width = first.height, first.width
	a.room = t.size * mostExpansion / int64(first.bits/8)
	v, channels, planes, err := a.volume(o)
	if err != nil {
		return nil, err
	}
	v.Type, v.Voxel = first.kind(), a.voxel
	return v, t.fill(ctx, v, a, pages, first, channels, planes, o.Time)
}

// fill decodes the selected planes, every page once.
func (t *tiff) fill(ctx context.Context, v *Volume, a *arrangement, pages []uint64, first *page, channels, planes []int, time int) error {
	type job struct {
		page int
		dst  [][]float32
	}
	var jobs []job
	byPage := make(map[int]int)
	size := first.height * first.width
	for ci, c := range channels {
		for zi, z := range planes {
			index, start, err := a.page(c, z, time)
			if err != nil {
				return err
			}
			if index >= len(pages) {
				return fmt.Errorf("channel %d, plane %d, time %d are on page %d: the file has %d", c, z, time, index+1, len(pages))
			}
			dst := v.Values[(ci*len(planes)+zi)*size:][:size]
			j, known := byPage[index]
			if !known || jobs[j].dst[c-start] != nil {
				j = len(jobs)
				byPage[index] = j
				jobs = append(jobs, job{index, make([][]float32, first.samples)})
			}
			jobs[j].dst[c-start] = dst
		}
	}
	d := decoder{file: t}
	for _, j := range jobs {
		p := first
		if j.page != 0 {
			var err error
			if p, err = t.page(pages, j.page); err != nil {
				return err
			}
		}
		if err := p.matches(first); err != nil {
			return err
		}
		if err := d.decode(ctx, p, j.dst); err != nil {
			return err
		}
	}
	return nil
}

// page reads how a page is stored.
func (t *tiff) page(pages []uint64, index int) (*page, error) {
	d, err := t.directory(index+1, pages[index])
	if err != nil {
		return nil, err
	}
	return d.layout()
}

// pages returns the offsets of the directories of all pages.
func (t *tiff) pages(ctx context.Context) ([]uint64, error) {
	var pages []uint64
	seen := make(map[uint64]bool)
	for at := t.first; at != 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if seen[at] {
			return nil, fmt.Errorf("page %d follows itself: the file is damaged", len(pages)+1)
		}
		if len(pages) == maxPages {
			return nil, fmt.Errorf("more than %d pages", maxPages)
		}
		seen[at] = true
		pages = append(pages, at)
		next, err := t.next(at)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", len(pages), err)
		}
		at = next
	}
	if len(pages) == 0 {
		return nil, errors.New("no pages")
	}
	return pages, nil
}

// arrange finds out what the pages are: what OME-XML or ImageJ's description on the first
// page say, or else the planes of one channel per sample. name is the file's.
func (t *tiff) arrange(ctx context.Context, pages []uint64, first *page, name string) (*arrangement, error) {
	text, err := first.text(tagDescription)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), "<") && strings.Contains(text, "<OME"), strings.Contains(text, "<OME:OME"):
		a, err := arrangeOME(text, name, first)
		if err != nil {
			err = first.fault(tagDescription, "OME-XML: %w", err)
		}
		return a, err
	case strings.HasPrefix(text, "ImageJ="):
		a, err := arrangeImageJ(text, len(pages), first)
		if err != nil {
			err = first.fault(tagDescription, "ImageJ: %w", err)
		}
		return a, err
	}
	return t.arrangePlain(ctx, pages, first)
}

// arrangePlain takes pages as planes along Z and samples as channels. Thumbnails and masks
// are skipped.
func (t *tiff) arrangePlain(ctx context.Context, pages []uint64, first *page) (*arrangement, error) {
	defer func(read int64) { t.read = read }(t.read) // directories are read again with their pages
	var full []int
	for i, at := range pages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := t.directory(i+1, at)
		if err != nil {
			return nil, err
		}
		kind, err := d.number(tagSubfileType, 0)
		if err != nil {
			return nil, err
		}
		if kind&reducedOrMaskPages == 0 || i == 0 {
			full = append(full, i)
		}
	}
	a := &arrangement{extent: extent{channels: first.samples, planes: len(full), times: 1}}
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
		if !isTIFF(head) {
			return "", errNotOME
		}
		t, err := openTIFF(r, info.Size())
		if err != nil {
			return "", err
		}
		return t.note(ctx)
	})
	if err != nil {
		return note, fmt.Errorf("%s: %w", path, err)
	}
	return note, nil
}

var errNotOME = errors.New("must be OME-TIFF")

func (t *tiff) note(ctx context.Context) (note string, err error) {
	pages, err := t.pages(ctx)
	if err != nil {
		return "", err
	}
	var doc omeXML
	for i := range pages {
		p, err := t.page(pages, i)
		if err != nil {
			return note, err
		}
		if i == 0 {
			text, err := p.text(tagDescription)
			if err != nil {
				return "", err
			}
			if err := xml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Images) == 0 {
				return "", errNotOME
			}
			note = doc.Images[0].Note
		}
		offsets, counts, err := p.blocks()
		if err != nil {
			return note, err
		}
		for k, at := range offsets {
			if size := uint64(t.size); at > size || counts[k] > size-at {
				return note, fmt.Errorf("page %d is not whole: is the file truncated?", i+1)
			}
		}
	}
	return note, nil
}

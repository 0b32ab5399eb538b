package npy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/visible"
)

// Archive is an NPZ archive from a user, whose arrays are read by their names.
type Archive struct {
	ctx     context.Context
	entries map[string]Entry
}

// ReadArchive opens an NPZ archive and passes it to read. The error does not name the file, and is that of
// ctx if it ends first. HDF5 and FITS files are refused with the lines that convert them.
func ReadArchive[T any](ctx context.Context, path string, read func(a *Archive) (T, error)) (T, error) {
	v, err := await.Result(ctx, func() (v T, err error) {
		f, info, err := inputfile.Open(path)
		if err != nil {
			return v, err
		}
		defer f.Close()
		a, err := NewArchive(ctx, f, info.Size())
		if err != nil {
			return v, err
		}
		return read(a)
	})
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return v, err
}

// NewArchive opens an archive, which is read until ctx ends.
func NewArchive(ctx context.Context, f io.ReaderAt, size int64) (*Archive, error) {
	f = inputfile.ReaderAt{Context: ctx, Source: f}
	head := make([]byte, 16)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := Foreign(head[:n]); err != nil {
		return nil, err
	}
	if !IsArchive(head[:n]) {
		return nil, errors.New("is not an NPZ archive")
	}
	entries, err := OpenArchive(f, size)
	if err != nil {
		return nil, err
	}
	a := &Archive{ctx: ctx, entries: map[string]Entry{}}
	for _, e := range entries {
		if _, twice := a.entries[e.Name()]; twice {
			return nil, fmt.Errorf("%s is in the file twice", visible.Text(e.Name()))
		}
		a.entries[e.Name()] = e
	}
	return a, nil
}

// Foreign returns an error if a file that begins with head is in a format that is not read, with the lines
// of Python that make an NPZ archive of it.
func Foreign(head []byte) error {
	switch {
	case strings.HasPrefix(string(head), "\x89HDF\r\n\x1a\n"):
		return errors.New(`is an HDF5 file: must be NPZ; write it again in Python: import h5py, numpy; f = h5py.File("data.h5"); ` +
			`numpy.savez("data.npz", **{name: f[name][()] for name in f})`)
	case strings.HasPrefix(string(head), "SIMPLE  ="):
		return errors.New(`is a FITS file: must be NPZ; write it again in Python: import numpy; from astropy.io import fits; f = fits.open("data.fits"); ` +
			`numpy.savez("data.npz", **{h.name.lower(): h.data for h in f if h.data is not None})`)
	}
	return nil
}

// Has reports whether there is an array of a name.
func (a *Archive) Has(name string) bool {
	_, ok := a.entries[name]
	return ok
}

// Numbers passes the numbers of an array to take, in the order of the file, after accept has seen its
// header. Complex numbers are two, the real part first.
func (a *Archive) Numbers(name string, accept func(Header) error, take func(float64)) error {
	entry, ok := a.entries[name]
	if !ok {
		return fmt.Errorf("has no array %s", name)
	}
	err := entry.Read(func(r io.Reader, _ int64) error {
		r = inputfile.Reader{Context: a.ctx, Source: r}
		h, _, err := ReadHeader(r)
		if err != nil {
			return err
		}
		e, known := ElementOf(h.Type)
		bytes, bounded := h.Bytes()
		if !known || !bounded {
			return fmt.Errorf("elements of type %s, or a shape (%s), that are not supported", visible.Text(h.Type),
				JoinShape(h.Shape))
		}
		if err := accept(h); err != nil {
			return err
		}
		chunk := make([]byte, 1<<16)
		for bytes > 0 {
			part := chunk[:min(int64(len(chunk)), bytes)]
			if _, err := io.ReadFull(r, part); err != nil {
				if a.ctx.Err() == nil {
					err = fmt.Errorf("damaged NPZ: the data end too early: %w", err)
				}
				return err
			}
			bytes -= int64(len(part))
			for ; len(part) > 0; part = part[e.Size:] {
				take(e.Read(part))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return nil
}

package im2im

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/sim/cyto"
	"prismtop/sim/cyto/loader"
	"prismtop/sim/cyto/stack"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// files are the prediction files of a run, one for each image: OME-TIFF of bytes at the
// image's scale. The note in a file says what it was made of, so that a later run of the
// same images, weights and settings skips it.
type files struct {
	paths   []string  // by the number of the image among all
	since   time.Time // newer files are the run's own
	weights string    // a digest of them, from checked on
	checked bool      // complete files were looked for
	items   []int     // the images that are predicted: all but those with complete files
	sources []string  // what each image is: its file as it is now, or the synthetic image
	names   []string  // of the images in notes
}

// noteStart begins the notes of prediction files.
const noteStart = "prismtop prediction: "

// fileEnding follows the name of an image and the experiment.
const fileEnding = ".ome.tif"

// newFiles makes the folder and chooses the names of the files: that of the image, the
// experiment, and a number where images of several folders share a name.
func newFiles(s *Settings, in *Inputs, since time.Time) (*files, error) {
	if err := os.MkdirAll(s.Predictions, 0o777); err != nil {
		return nil, err
	}
	if here, err := os.Stat(s.Predictions); err != nil {
		return nil, err
	} else if data, err := os.Stat(s.Data); err == nil && os.SameFile(here, data) {
		return nil, errors.New("is the folder of the images, where the next run would read the predictions: must be " +
			"another one")
	}
	f := &files{since: since}
	taken := map[string]int{}
	for i := range in.heldOut.Len() {
		name := loader.Stem(in.heldOut.Name(i))
		source := fmt.Sprintf("%s of %+v", name, s.synthetic(true))
		if in.files {
			info, err := os.Stat(in.heldOut.Name(i))
			if err != nil {
				return nil, err
			}
			source = fmt.Sprintf("%s, %d bytes, %d", in.heldOut.Name(i), info.Size(), info.ModTime().UnixNano())
		}
		name = strings.ReplaceAll(name, " ", "-")
		taken[name]++
		file := name
		if n := taken[name]; n > 1 {
			file = fmt.Sprintf("%s-%d", name, n)
			taken[file]++
		}
		f.names, f.sources = append(f.names, name), append(f.sources, source)
		f.paths = append(f.paths, filepath.Join(s.Predictions, file+"."+s.Experiment+fileEnding))
	}
	return f, nil
}

// note describes the prediction of an image, and identifies all that it depends on.
func (f *files) note(s *Settings, i int) string {
	depends := s.inputs() // the settings that change the bytes
	depends.Data, depends.CacheImages = "", false
	depends.Patch, depends.Overlap, depends.AMP, depends.Winograd = s.Patch, s.Overlap, s.AMP, s.Winograd
	mark := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%+v", f.weights, f.sources[i], depends))
	return fmt.Sprintf("%s%s of %s, from least to largest value; mark %x", noteStart, s.Experiment, f.names[i],
		mark[:12])
}

// digest identifies weights.
func digest(all []weights.Tensor) string {
	h := sha256.New()
	var b []byte
	for _, t := range all {
		b = append(b[:0], t.Name...)
		for _, v := range t.Values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		h.Write(b)
	}
	return string(h.Sum(nil))
}

// check finds out which images have complete files. A file that is no prediction of this
// program is an error.
func (f *files) check(ctx context.Context, s *Settings) error {
	f.items = nil
	for i, path := range f.paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !f.since.IsZero() && !info.ModTime().Before(f.since) {
			f.items = append(f.items, i)
			continue
		}
		if err != nil {
			return err
		}
		note, err := stack.Note(ctx, path)
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		switch {
		case err == nil && note == f.note(s, i):
		case strings.HasPrefix(note, noteStart):
			f.items = append(f.items, i) // of other weights, settings or an earlier image, or cut short
		case err != nil:
			return fmt.Errorf("would be replaced, and is no prediction of prismtop: must be moved away: %w", err)
		default:
			return fmt.Errorf("%s: would be replaced, and is no prediction of prismtop: must be moved away", path)
		}
	}
	f.checked = true
	return nil
}

// resumeFiles leaves out the images that have complete files, before the first iteration,
// when the weights are known. done is true if all have.
func (p *prediction) resumeFiles(ctx context.Context, out *workload.Outcome) (done bool, err error) {
	f := p.files
	f.weights = digest(p.weights)
	if err := f.check(ctx, &p.settings); err != nil {
		return false, fmt.Errorf("predictions = %s: %w", p.settings.Predictions, err)
	}
	skipped := len(f.paths) - len(f.items)
	if skipped == 0 {
		return false, nil
	}
	out.Said = append(out.Said, profiles.LogEntry{Text: f.skipped(p.settings.Predictions)})
	if len(f.items) == 0 {
		out.Finished, out.NoIteration = true, true
		return true, nil
	}
	rest, err := loader.New(context.WithoutCancel(ctx), loader.Part(p.inputs.heldOut, f.items),
		p.settings.predictionBatches())
	if err != nil {
		return false, err
	}
	p.images.Close()
	p.images = rest
	return false, nil
}

// skipped says how many images are left out.
func (f *files) skipped(folder string) string {
	n := len(f.paths) - len(f.items)
	return fmt.Sprintf("%d of %s skipped: their prediction files in %s are complete", n,
		unit.Plural(len(f.paths), "image is", "images are"), folder)
}

// Left returns a sentence about the images that were not predicted, because their files are
// complete; empty if there are none.
func (p *prediction) Left() string {
	if p.files == nil || !p.files.checked || len(p.files.items) == len(p.files.paths) {
		return ""
	}
	return p.files.skipped(p.settings.Predictions)
}

// Finish says where the prediction files are.
func (p *prediction) Finish(context.Context) (string, error) {
	if p.files == nil || len(p.files.items) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s in %s", unit.Plural(len(p.files.items), "prediction file", "prediction files"),
		p.settings.Predictions), nil
}

// write writes the prediction of an image of a batch.
func (f *files) write(ctx context.Context, s *Settings, item int, pair *cyto.Pair, output cyto.Image) error {
	item = f.items[item]
	values := cyto.Image{Sides: output.Sides, Values: append([]float32(nil), output.Values...)}
	what, of := "signal", "from"
	if s.Experiment == Segmentation {
		cyto.Sigmoid(values.Values)
		what, of = "segmentation", "of"
	}
	pixels := stack.Pixels[uint8]{Sides: [4]int{1, output.Sides[0], output.Sides[1], output.Sides[2]},
		Channels: []string{what}, Note: f.note(s, item)}
	if from := pair.From; from != nil {
		copy(pixels.Sides[1:], from.Sides[:])
		pixels.Voxel = from.Voxel
		if from.Channel != "" {
			pixels.Channels[0] = what + " " + of + " " + from.Channel
		}
	}
	low, high := extent(values.Values)
	var err error
	if pixels.Values, err = cyto.Enlarge(ctx, values, [3]int(pixels.Sides[1:]), low, high); err != nil {
		return err
	}
	return stack.Write(ctx, f.paths[item], pixels)
}

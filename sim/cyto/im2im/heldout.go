package im2im

import (
	"context"
	"math"

	"prismtop/profiles"
	"prismtop/sim/cyto"
)

// heldOut are volumes that training does not see, and what the newest weights make of
// them.
type heldOut struct {
	*Model
	settings Settings
	pairs    []cyto.Pair
	windows  *cyto.Windows
	shown    slice
	whole    bool // the images to learn from are in memory, too
}

// mostHeldOut bounds the held-out volumes that are predicted after each epoch.
const mostHeldOut = 16

// newHeldOut loads the volumes and a plan of windows.
func newHeldOut(ctx context.Context, s *Settings, in *Inputs, m *Model) (*heldOut, error) {
	h := &heldOut{Model: m, settings: *s, whole: !in.files && s.CacheImages}
	var err error
	if h.pairs, err = in.pairs(ctx, mostHeldOut); err != nil {
		return nil, err
	}
	h.shown = sliceOf(h.pairs[0])
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *heldOut) load(ctx context.Context) (err error) {
	h.close()
	h.windows, err = h.Model.windows(ctx, &h.settings)
	return err
}

// windows loads a plan of windows.
func (m *Model) windows(ctx context.Context, s *Settings) (*cyto.Windows, error) {
	return cyto.NewWindows(ctx, m.network, m.device.Backend, m.state, s.windows())
}

func (h *heldOut) close() {
	if h.windows != nil {
		h.windows.Close()
		h.windows = nil
	}
}

// apply follows changed settings.
func (h *heldOut) apply(ctx context.Context, s *Settings) error {
	same := s.windows() == h.settings.windows()
	h.settings = *s
	if same {
		return nil
	}
	return h.load(ctx)
}

// evaluate predicts the volumes and returns the mean similarity to their targets. If ctx
// ends first, the picture before stays.
func (h *heldOut) evaluate(ctx context.Context) (similarity float64, err error) {
	for i := range h.pairs {
		logits, err := h.windows.Predict(ctx, h.pairs[i].Image, h.settings.Overlap)
		if err != nil {
			return 0, err
		}
		similarity += similarityOf(&h.settings, logits.Values, h.pairs[i].Target.Values) / float64(len(h.pairs))
		if i == 0 {
			h.shown.predicted(&h.settings, logits)
		}
	}
	return similarity, nil
}

// bytes is the memory of the plan of windows.
func (h *heldOut) bytes() int64 { return h.windows.Bytes() }

// imageBytes is the memory of the images: of synthetic ones all, of files those held out.
func (h *heldOut) imageBytes() (n int64) {
	if h.whole {
		return int64(h.settings.dataBytes())
	}
	for _, p := range h.pairs {
		n += 4 * int64(len(p.Image.Values)+len(p.Target.Values))
	}
	return n
}

// similarityOf compares the network's output with a target: by the Dice coefficient, or
// by the correlation of a signal.
func similarityOf(s *Settings, output, target []float32) float64 {
	if s.Experiment == LabelFree {
		return correlation(output, target)
	}
	return cyto.DiceOf(output, target)
}

// correlation is Pearson's; 0 if one of the two does not vary.
func correlation(a, b []float32) float64 {
	var ma, mb, aa, bb, ab float64
	for i := range a {
		ma += float64(a[i])
		mb += float64(b[i])
	}
	ma, mb = ma/float64(len(a)), mb/float64(len(b))
	for i := range a {
		x, y := float64(a[i])-ma, float64(b[i])-mb
		aa, bb, ab = aa+x*x, bb+y*y, ab+x*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// slice is a plane of a volume: its image, target and prediction as pictures.
type slice struct {
	z             int
	width, height int
	low, high     float32 // ends of the target's scale, of the whole volume
	raw, target   []float32
	prediction    []float32
}

// sliceOf returns the plane of a pair with the most target, the middle one without a
// target, and no prediction yet.
func sliceOf(p cyto.Pair) slice {
	sides := p.Image.Sides
	s := slice{z: sides[0] / 2, width: sides[2], height: sides[1]}
	area := s.width * s.height
	low, high := extent(p.Image.Values)
	if len(p.Target.Values) > 0 {
		s.low, s.high = extent(p.Target.Values)
		most := math.Inf(-1)
		for z := range sides[0] {
			sum := 0.0
			for _, v := range p.Target.Values[z*area:][:area] {
				sum += float64(v)
			}
			if sum > most {
				s.z, most = z, sum
			}
		}
		s.target = scaled(p.Target.Values[s.z*area:][:area], s.low, s.high)
	}
	s.raw = scaled(p.Image.Values[s.z*area:][:area], low, high)
	return s
}

// extent returns the smallest and the largest value.
func extent(values []float32) (low, high float32) {
	low, high = values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// scaled maps values from low to high to 0 to 1, and clips the others.
func scaled(values []float32, low, high float32) []float32 {
	all := make([]float32, len(values))
	if high > low {
		for i, v := range values {
			all[i] = min(max((v-low)/(high-low), 0), 1)
		}
	}
	return all
}

// predicted takes the plane of a prediction: probabilities of a segmentation, or a signal
// on the target's scale, its own without a target.
func (s *slice) predicted(settings *Settings, output cyto.Image) {
	area := s.width * s.height
	plane := output.Values[s.z*area:][:area]
	if settings.Experiment == Segmentation {
		s.prediction = make([]float32, area)
		for i, z := range plane {
			s.prediction[i] = sigmoid(z)
		}
		return
	}
	low, high := s.low, s.high
	if s.target == nil {
		low, high = extent(output.Values)
	}
	s.prediction = scaled(plane, low, high)
}

func sigmoid(z float32) float32 { return float32(1 / (1 + math.Exp(-float64(z)))) }

// picture returns one of the schema's pictures; of zeros before there is one.
func (s *slice) picture(id int) *profiles.Picture {
	p := &profiles.Picture{ID: id, Width: s.width, Height: s.height}
	p.Pixels = [...][]float32{PicturePrediction: s.prediction, PictureTarget: s.target, PictureRaw: s.raw}[id]
	if p.Pixels == nil {
		p.Pixels = make([]float32, s.width*s.height)
	}
	return p
}

// picture returns a picture of the first volume. Its pixels are not changed afterwards.
func (h *heldOut) picture(id int) *profiles.Picture { return h.shown.picture(id) }

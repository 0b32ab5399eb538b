package openmetrics

import (
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"prismtop/profiles/visible"
)

// Families of metrics, and the form that a reader accepts.

// families are metrics by name, in the order in which they are written.
type families struct {
	all []*dto.MetricFamily
}

// family begins a family of counters or gauges, whose name ends in its unit. That of counters gets the ending _total.
func (f *families) family(name string, kind dto.MetricType, help string) {
	if kind == dto.MetricType_COUNTER {
		name += "_total"
	}
	f.begin(name, kind, help)
}

// info adds what something is, as labels of a gauge that is 1: neither format that all readers know has another way.
func (f *families) info(name, help string) { f.begin(name+"_info", dto.MetricType_GAUGE, help) }

func (f *families) begin(name string, kind dto.MetricType, help string) {
	f.all = append(f.all, &dto.MetricFamily{Name: &name, Help: &help, Type: &kind})
}

// sample adds a value of the current family with its labels, name by name and value. Values may come from files: their
// control characters are escaped.
func (f *families) sample(v float64, labels ...string) {
	m := &dto.Metric{}
	for i := 0; i < len(labels); i += 2 {
		value := visible.Lines(labels[i+1])
		m.Label = append(m.Label, &dto.LabelPair{Name: &labels[i], Value: &value})
	}
	family := f.all[len(f.all)-1]
	if family.GetType() == dto.MetricType_COUNTER {
		m.Counter = &dto.Counter{Value: &v}
	} else {
		m.Gauge = &dto.Gauge{Value: &v}
	}
	family.Metric = append(family.Metric, m)
}

// histogram adds counts below bounds, the last of which is that above all bounds, and the sum of what they counted.
func (f *families) histogram(bounds []float64, counts []int64, sum float64) {
	h := &dto.Histogram{SampleSum: &sum}
	n := uint64(0)
	for i, count := range counts {
		if n += uint64(count); i < len(bounds) {
			so := n
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bounds[i], CumulativeCount: &so})
		}
	}
	h.SampleCount = &n
	family := f.all[len(f.all)-1]
	family.Metric = append(family.Metric, &dto.Metric{Histogram: h})
}

// write writes the families in a format.
func (f *families) write(w io.Writer, format expfmt.Format) error {
	encoder := expfmt.NewEncoder(w, format)
	for _, family := range f.all {
		if len(family.Metric) == 0 {
			continue
		}
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		return closer.Close()
	}
	return nil
}

// answer writes the families as a request accepts them.
func (f *families) answer(w http.ResponseWriter, r *http.Request) error {
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	w.Header().Set("Content-Type", string(format))
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	if !accepts(r.Header.Values("Accept-Encoding"), "gzip") {
		return f.write(w, format)
	}
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	if err := f.write(zip, format); err != nil {
		return err
	}
	return zip.Close()
}

// accepts reports whether a header of encodings has one with a weight above 0.
func accepts(header []string, encoding string) bool {
	return slices.ContainsFunc(strings.Split(strings.Join(header, ","), ","), func(item string) bool {
		name, parameters, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), encoding) {
			return false
		}
		weight, given := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return !given || err == nil && q > 0
	})
}

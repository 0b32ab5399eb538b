package openmetrics

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/machine"
)

// recorded is a Source of the events of exporttest, each of them once.
type recorded struct{ events []profiles.Event }

func (r *recorded) Drain(take func(*profiles.Event)) bool {
	for i := range r.events {
		take(&r.events[i])
	}
	any := len(r.events) > 0
	r.events = nil
	return any
}

func (r *recorded) Dropped() int64 { return 4 }

// collected returns a collector of the run of exporttest and its last snapshot.
func collected(t *testing.T) *Collector {
	t.Helper()
	a := aggregate.New(&recorded{exporttest.Events()}, aggregate.Options{Load: func() machine.Load { return machine.Load{Reason: "not read"} }})
	s := *a.Tick(exporttest.Began.Add(exporttest.Restart * 2))
	s.Alerts = exporttest.Alerts()
	s.Run.Object = "a \\ \"name\"\n.png"
	c := New("1.2", func() *profiles.Snapshot { return &s })
	for _, e := range exporttest.Events() {
		c.Take(&e)
	}
	return c
}

// metrics is what Prometheus' parser of the text format finds: values by name and labels, and types by family.
type metrics struct {
	values map[string]float64
	types  map[string]string
}

func parse(t *testing.T, text []byte) metrics {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	found, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	m := metrics{map[string]float64{}, map[string]string{}}
	put := func(v float64, name string, labels []*dto.LabelPair, more ...string) {
		set := model.Metric{model.MetricNameLabel: model.LabelValue(name)}
		for _, l := range labels {
			set[model.LabelName(l.GetName())] = model.LabelValue(l.GetValue())
		}
		if len(more) > 0 {
			set["le"] = model.LabelValue(more[0])
		}
		if _, twice := m.values[set.String()]; twice {
			t.Errorf("%s comes twice", set)
		}
		m.values[set.String()] = v
	}
	for name, family := range found {
		m.types[name] = family.GetType().String()
		for _, s := range family.Metric {
			switch {
			case s.Counter != nil:
				put(s.Counter.GetValue(), name, s.Label)
			case s.Gauge != nil:
				put(s.Gauge.GetValue(), name, s.Label)
			case s.Histogram != nil:
				put(float64(s.Histogram.GetSampleCount()), name+"_count", s.Label)
				put(s.Histogram.GetSampleSum(), name+"_sum", s.Label)
				for _, b := range s.Histogram.Bucket {
					put(float64(b.GetCumulativeCount()), name+"_bucket", s.Label, strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
				}
			}
		}
	}
	return m
}

func TestPrometheusParsesTheMetrics(t *testing.T) {
	m := parse(t, collected(t).Text())
	const n = exporttest.Starts * exporttest.Iterations
	for name, want := range map[string]float64{
		`prismtop_iteration_seconds_count`:                        n,
		`prismtop_iteration_seconds_sum`:                          n * float64(exporttest.Total) / 1e9,
		`prismtop_iteration_seconds_bucket{le="0.0025"}`:          0,
		`prismtop_iteration_seconds_bucket{le="0.005"}`:           n,
		`prismtop_iteration_seconds_bucket{le="+Inf"}`:            n,
		`prismtop_phase_seconds_total{phase="backward"}`:          n * float64(exporttest.Backward) / 1e9,
		`prismtop_phase_seconds_total{phase="metrics"}`:           n / 3 * float64(exporttest.Metrics) / 1e9,
		`prismtop_monitoring_seconds_total`:                       n * float64(exporttest.Retimed) / 1e9,
		`prismtop_changes_total`:                                  exporttest.Starts,
		`prismtop_iterations`:                                     exporttest.Iterations,
		`prismtop_state{prismtop_state="finished"}`:               1,
		`prismtop_state{prismtop_state="running"}`:                0,
		`prismtop_units`:                                          2,
		`prismtop_units_ended`:                                    2,
		`prismtop_units_failed`:                                   1,
		`prismtop_cache_hits_total{cache="measurement"}`:          15,
		`prismtop_cache_misses_total{cache="measurement"}`:        11,
		`prismtop_cache_bytes{cache="measurement"}`:               1200,
		`prismtop_memory_bytes{category="weights"}`:               4096,
		`prismtop_resident_bytes`:                                 12 << 20,
		`prismtop_resident_peak_bytes`:                            1 << 30,
		`prismtop_series{series="psnr_db"}`:                       31,
		`prismtop_series{series="loss_new"}`:                      1. / 12,
		`prismtop_non_finite_iterations_total`:                    1,
		`prismtop_dropped_records_total`:                          4,
		`prismtop_alert{alert="not-finite", severity="critical"}`: 1,
		`prismtop_run_info{device="cpu", kernels="go", object="a \\ \"name\"\n.png", workload="test"}`: 1,
	} {
		if got, ok := m.values[name]; !ok || math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s: %g (found: %v), want %g", name, got, ok, want)
		}
	}
	if m.types["prismtop_iteration_seconds"] != "HISTOGRAM" || m.types["prismtop_build_info"] != "GAUGE" || m.types["prismtop_changes_total"] != "COUNTER" {
		t.Errorf("types %v", m.types)
	}
}

// Before the first snapshot there are metrics too.
func TestMetricsBeforeTheRunBegins(t *testing.T) {
	m := parse(t, New("1.2", func() *profiles.Snapshot { return nil }).Text())
	if v, ok := m.values[`prismtop_iteration_seconds_count`]; !ok || v != 0 {
		t.Errorf("%v", m.values)
	}
}

// Requests are answered while events arrive.
func TestTheServerAnswersWhileTheRunGoesOn(t *testing.T) {
	c := collected(t)
	s := serving(t, "127.0.0.1:0")
	defer s.Close()
	s.Serve(c)
	var running sync.WaitGroup
	stop := make(chan struct{})
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, e := range exporttest.Events() {
					c.Take(&e)
				}
			}
		}
	})
	for range 20 {
		r, err := http.Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain; version=0.0.4;") {
			t.Fatalf("%s %v %v", r.Status, r.Header, err)
		}
		m := parse(t, body)
		if all, inf := m.values[`prismtop_iteration_seconds_count`], m.values[`prismtop_iteration_seconds_bucket{le="+Inf"}`]; all != inf {
			t.Errorf("%g iterations, %g in buckets", all, inf)
		}
	}
	close(stop)
	running.Wait()
	http.DefaultClient.CloseIdleConnections()
}

func TestOnlyTheMetricsAreServed(t *testing.T) {
	c := New("", func() *profiles.Snapshot { return nil })
	for _, q := range []struct {
		method, path string
		want         int
	}{{"GET", "/metrics", 200}, {"HEAD", "/metrics", 200}, {"GET", "/", 404}, {"POST", "/metrics", 405}} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(q.method, q.path, nil))
		if w.Code != q.want {
			t.Errorf("%s %s: %d, want %d", q.method, q.path, w.Code, q.want)
		}
	}
}

// A reader gets the format that it accepts, compressed if it says so, with the same samples.
func TestTheFormatIsNegotiated(t *testing.T) {
	c := collected(t)
	get := func(accept, encoding string) (body, kind string) {
		t.Helper()
		r := httptest.NewRequest("GET", Path, nil)
		r.Header.Set("Accept", accept)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		var from io.Reader = w.Body
		if zipped := w.Header().Get("Content-Encoding") == "gzip"; zipped != (encoding == "gzip" || encoding == "deflate, gzip;q=0.5") {
			t.Errorf("Accept-Encoding %q: zipped is %t", encoding, zipped)
		} else if zipped {
			zip, err := gzip.NewReader(from)
			if err != nil {
				t.Fatal(err)
			}
			from = zip
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), w.Header().Get("Content-Type")
	}
	samples := func(body string) (lines []string) {
		for line := range strings.Lines(body) {
			if !strings.HasPrefix(line, "#") {
				name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				v, err := strconv.ParseFloat(value[strings.LastIndexByte(value, ' ')+1:], 64)
				if err != nil && !strings.Contains(line, "\\n") {
					t.Errorf("%q: %v", line, err)
				}
				lines = append(lines, strings.Replace(name, ".0\"", "\"", 1)+strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		return lines
	}
	plain, kind := get("text/plain;version=0.0.4;q=0.3,*/*;q=0.2", "")
	if !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("%s:\n%s", kind, plain)
	}
	parse(t, []byte(plain))
	open, kind := get("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5", "gzip")
	if !strings.HasPrefix(kind, "application/openmetrics-text; version=1.0.0") || !strings.HasSuffix(open, "\n# EOF\n") ||
		!strings.Contains(open, "# TYPE prismtop_changes counter\n") {
		t.Errorf("%s:\n%s", kind, open)
	}
	if a, b := samples(plain), samples(open); !slices.Equal(a, b) {
		t.Errorf("the samples differ:\n%q\n%q", a, b)
	}
	for _, encoding := range []string{"identity", "gzip;q=0", "deflate, gzip;q=0.5"} {
		if body, _ := get("*/*", encoding); body != plain {
			t.Errorf("Accept-Encoding %q: %d bytes", encoding, len(body))
		}
	}
}

func TestAPortAloneIsOfTheLoopback(t *testing.T) {
	for given, want := range map[string]string{
		"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:80": "0.0.0.0:80", "[::1]:0": "[::1]:0", "host:1": "host:1",
	} {
		if got, err := Address(given); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", given, got, err, want)
		}
	}
	for _, bad := range []string{"", "host", "host:", "host:port", "::1:9464", "1:2:3", "70000", "-1"} {
		if got, err := Address(bad); err == nil || !strings.Contains(err.Error(), "HOST:PORT") {
			t.Errorf("%q gives %q (%v)", bad, got, err)
		}
	}
}

// serving returns a server at an address.
func serving(t *testing.T, address string) *Server {
	t.Helper()
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	return NewServer(l, address)
}

// A browser here is told the metrics by no page of another site, whatever its name leads to.
func TestTheLoopbackAnswersItsOwnNamesOnly(t *testing.T) {
	for _, c := range []struct {
		address string
		public  bool
		want    map[string]int
	}{
		{"127.0.0.1:0", false, map[string]int{"127.0.0.1:9464": 200, "127.1.2.3": 200, "localhost:9464": 200, "LOCALHOST.": 200, "a.localhost": 200, "[::1]:9464": 200,
			"evil.example:9464": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403, "192.0.2.1": 403}},
		{"0.0.0.0:0", true, map[string]int{"evil.example": 200, "192.0.2.1:9464": 200}},
	} {
		s := serving(t, c.address)
		if s.Public() != c.public {
			t.Errorf("%s: public is %t", c.address, s.Public())
		}
		s.Serve(New("", func() *profiles.Snapshot { return nil }))
		_, port, _ := net.SplitHostPort(s.listener.Addr().String())
		for host, want := range c.want {
			request, err := http.NewRequest("GET", "http://127.0.0.1:"+port+Path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			r, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != want {
				t.Errorf("%s, host %s: %s, want %d", c.address, host, r.Status, want)
			}
		}
		s.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

// Names from files and users steer no terminal that shows the metrics.
func TestMetricsHaveNoControlCharacters(t *testing.T) {
	const object = "im\x1b]0;PWN\a\u202e\u009b\n\".png"
	var f families
	f.info("prismtop_run", "The run.")
	f.sample(1, "object", object)
	var out bytes.Buffer
	if err := f.write(&out, expfmt.NewFormat(expfmt.TypeTextPlain)); err != nil {
		t.Fatal(err)
	}
	if at := bytes.IndexFunc(out.Bytes(), func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); at >= 0 || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("%q", out.String())
	}
	if want := `object="im\\x1b]0;PWN\\a\\u202e\\u009b\n\".png"`; !strings.Contains(out.String(), want) {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

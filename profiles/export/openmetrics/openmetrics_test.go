package openmetrics

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

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

// metrics is what Prometheus' parser of OpenMetrics finds: values by name and labels, and types
// and units by family.
type metrics struct {
	values map[string]float64
	types  map[string]string
	units  map[string]string
}

func parse(t *testing.T, text []byte) metrics {
	t.Helper()
	m := metrics{map[string]float64{}, map[string]string{}, map[string]string{}}
	p := textparse.NewOpenMetricsParser(text, labels.NewSymbolTable())
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) { // only after # EOF
			return m
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch entry {
		case textparse.EntryType:
			name, kind := p.Type()
			if _, twice := m.types[string(name)]; twice {
				t.Errorf("family %s comes twice", name)
			}
			m.types[string(name)] = string(kind)
		case textparse.EntryUnit:
			name, unit := p.Unit()
			m.units[string(name)] = string(unit)
		case textparse.EntrySeries:
			var l labels.Labels
			p.Metric(&l)
			_, _, v := p.Series()
			if _, twice := m.values[l.String()]; twice {
				t.Errorf("%s comes twice", l)
			}
			m.values[l.String()] = v
		}
	}
}

func TestPrometheusParsesTheMetrics(t *testing.T) {
	m := parse(t, collected(t).Text())
	const n = exporttest.Starts * exporttest.Iterations
	for name, want := range map[string]float64{
		`{__name__="prismtop_iteration_seconds_count"}`:                                                             n,
		`{__name__="prismtop_iteration_seconds_sum"}`:                                                               n * float64(exporttest.Total) / 1e9,
		`{__name__="prismtop_iteration_seconds_bucket", le="0.0025"}`:                                               0,
		`{__name__="prismtop_iteration_seconds_bucket", le="0.005"}`:                                                n,
		`{__name__="prismtop_iteration_seconds_bucket", le="+Inf"}`:                                                 n,
		`{__name__="prismtop_phase_seconds_total", phase="backward"}`:                                               n * float64(exporttest.Backward) / 1e9,
		`{__name__="prismtop_phase_seconds_total", phase="metrics"}`:                                                n / 3 * float64(exporttest.Metrics) / 1e9,
		`{__name__="prismtop_monitoring_seconds_total"}`:                                                            n * float64(exporttest.Retimed) / 1e9,
		`{__name__="prismtop_changes_total"}`:                                                                       exporttest.Starts,
		`{__name__="prismtop_iterations"}`:                                                                          exporttest.Iterations,
		`{__name__="prismtop_state", prismtop_state="finished"}`:                                                    1,
		`{__name__="prismtop_state", prismtop_state="running"}`:                                                     0,
		`{__name__="prismtop_units"}`:                                                                               2,
		`{__name__="prismtop_units_ended"}`:                                                                         2,
		`{__name__="prismtop_units_failed"}`:                                                                        1,
		`{__name__="prismtop_cache_hits_total", cache="measurement"}`:                                               15,
		`{__name__="prismtop_cache_misses_total", cache="measurement"}`:                                             11,
		`{__name__="prismtop_cache_bytes", cache="measurement"}`:                                                    1200,
		`{__name__="prismtop_memory_bytes", category="weights"}`:                                                    4096,
		`{__name__="prismtop_resident_bytes"}`:                                                                      12 << 20,
		`{__name__="prismtop_resident_peak_bytes"}`:                                                                 1 << 30,
		`{__name__="prismtop_series", series="psnr_db"}`:                                                            31,
		`{__name__="prismtop_series", series="loss_new"}`:                                                           1. / 12,
		`{__name__="prismtop_non_finite_iterations_total"}`:                                                         1,
		`{__name__="prismtop_dropped_records_total"}`:                                                               4,
		`{__name__="prismtop_alert", alert="not-finite", severity="critical"}`:                                      1,
		`{__name__="prismtop_run_info", device="cpu", kernels="go", object="a \\ \"name\"\n.png", workload="test"}`: 1,
	} {
		if got, ok := m.values[name]; !ok || math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s: %g (found: %v), want %g", name, got, ok, want)
		}
	}
	if m.types["prismtop_iteration_seconds"] != "histogram" || m.types["prismtop_build"] != "info" || m.types["prismtop_state"] != "stateset" {
		t.Errorf("types %v", m.types)
	}
	for name, unit := range m.units {
		if !strings.HasSuffix(name, "_"+unit) {
			t.Errorf("the unit of %s is %s", name, unit)
		}
	}
}

// Before the first snapshot there are metrics too.
func TestMetricsBeforeTheRunBegins(t *testing.T) {
	m := parse(t, New("1.2", func() *profiles.Snapshot { return nil }).Text())
	if v, ok := m.values[`{__name__="prismtop_iteration_seconds_count"}`]; !ok || v != 0 {
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
		if err != nil || r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != contentType {
			t.Fatalf("%s %v %v", r.Status, r.Header, err)
		}
		m := parse(t, body)
		if all, inf := m.values[`{__name__="prismtop_iteration_seconds_count"}`], m.values[`{__name__="prismtop_iteration_seconds_bucket", le="+Inf"}`]; all != inf {
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
	var out text
	out.family("prismtop_run", "info", "", "The run.")
	out.sample("_info", 1, "object", object)
	if at := bytes.IndexFunc(out.out, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); at >= 0 || strings.Count(string(out.out), "\n") != 3 {
		t.Errorf("%q", out.out)
	}
	if want := `object="im\\x1b]0;PWN\\a\\u202e\\u009b\n\".png"`; !strings.Contains(string(out.out), want) {
		t.Errorf("%q, want %q", out.out, want)
	}
}

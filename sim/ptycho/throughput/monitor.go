package throughput

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"prismtop/profiles/stats"
)

// Entry is an inference in the log of a Monitor, by the fields of the document.
type Entry struct {
	Timestamp   time.Time `json:"timestamp"`
	BatchSize   int       `json:"batch_size"`
	ElapsedTime float64   `json:"elapsed_time"` // seconds
	MemoryUsage int64     `json:"memory_usage"` // bytes; 0 if unknown
	Throughput  float64   `json:"throughput"`   // images/s
	Alert       string    `json:"alert,omitempty"`
}

// EntryOf returns the entry of a trial; ok is false if it predicted nothing.
func EntryOf(t Trial) (e Entry, ok bool) {
	if t.Status != Success {
		return e, false
	}
	run := &t.Result.Runs[0]
	return Entry{Timestamp: t.Began.UTC(), BatchSize: t.Batch, ElapsedTime: run.Seconds.Predict,
		MemoryUsage: Held(t.Result), Throughput: float64(run.Images) / run.Seconds.Predict}, true
}

// The document's rule: a throughput below degraded of the median of the last recent ones.
const (
	degraded = 0.8
	recent   = 100
	fewest   = 3 // throughputs that make a median worth comparing with
)

// degradation is the document's text.
const degradation = "Performance degradation detected"

// Monitor watches the throughput of inferences. Throughputs are compared with those of the
// same batch size: others say nothing about it.
type Monitor struct {
	// To gets each entry as a line of JSON; nil for no log.
	To  io.Writer
	err error

	throughputs map[int][]float64
}

// Log adds an inference, and returns an alert if it was slow.
func (m *Monitor) Log(e Entry) *Alert {
	if m.throughputs == nil {
		m.throughputs = map[int][]float64{}
	}
	all := append(m.throughputs[e.BatchSize], e.Throughput)
	all = all[max(0, len(all)-recent):]
	m.throughputs[e.BatchSize] = all
	var a *Alert
	median := stats.Median(all)
	if len(all) >= fewest && e.Throughput < degraded*median {
		share := e.Throughput / median
		e.Alert = fmt.Sprintf("%s: %.0f %% of the median at batch size %d", degradation, 100*share, e.BatchSize)
		a = &Alert{Began: e.Timestamp.Format(time.RFC3339Nano), BatchSize: e.BatchSize, Share: share, Text: e.Alert}
	}
	if m.To != nil && m.err == nil {
		var line []byte
		if line, m.err = json.Marshal(e); m.err == nil {
			_, m.err = m.To.Write(append(line, '\n'))
		}
	}
	return a
}

// Err returns the first error of the log.
func (m *Monitor) Err() error { return m.err }

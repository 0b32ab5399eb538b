package outside

import (
	"context"
	"fmt"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/kineto"
	"prismtop/profiles/loop"
	"prismtop/profiles/recording"
	"prismtop/profiles/unit"
)

// A trace of torch.profiler as a recording, which is then replayed, compared and exported like any other.

// traceEvents are the events of a trace, as a source of an aggregator.
type traceEvents struct{ waiting []profiles.Event }

// Drain gives the events since the last call.
func (s *traceEvents) Drain(take func(*profiles.Event)) bool {
	for i := range s.waiting {
		take(&s.waiting[i])
	}
	some := len(s.waiting) > 0
	s.waiting = s.waiting[:0]
	return some
}

// Dropped returns 0: all is there.
func (s *traceEvents) Dropped() int64 { return 0 }

// RecordTrace writes a trace as a recording to a new file.
func RecordTrace(ctx context.Context, t *kineto.Trace, name, path string) (err error) {
	g := &loop.Greeting{Format: 1, Script: name, Kinds: []loop.Kind{{Name: "step"}}, Device: "cpu", Card: t.Card}
	for p := range kineto.Phases {
		g.Phases = append(g.Phases, loop.Phase{Name: p.String(), What: p.What()})
	}
	clock := "host times of operators and annotations"
	if t.Device {
		g.Device, clock = "cuda", "times of the kernels launched in each phase; other is when none ran"
		g.Series = []loop.Series{{Name: "kernels", Title: "kernels", Each: true}}
	}
	shelf, err := Table(g)
	if err != nil {
		return err
	}
	info := profiles.RunInfo{
		Schema: Schema(g), Object: name, Device: g.Device, Card: t.Card, Kernels: "torch.profiler", Traced: true,
		Ranks: t.World, Notes: []string{fmt.Sprintf("a trace of torch.profiler: %s, %s",
			unit.Plural(len(t.Steps), "step", "steps"), clock)},
		GPUReason: "a trace has no sensors",
	}
	if t.World > 1 {
		info.Notes = append(info.Notes, fmt.Sprintf("of rank %d of %d", t.Rank, t.World))
	}
	failed := ""
	r := recording.New(recording.Options{Path: path, Fingerprint: recording.Fingerprint{Version: "torch.profiler",
		Preset: Name}, Report: func(s profiles.RecordingState) { failed = s.Err }})
	defer func() {
		if closed := r.Close(ctx); err == nil {
			err = closed
		}
		if err == nil && failed != "" {
			err = fmt.Errorf("%s", strings.TrimSpace(failed))
		}
	}()
	source, began := &traceEvents{}, r.Began()
	a := aggregate.New(source, aggregate.Options{Tape: r})
	put := func(at int64, b profiles.Body) {
		source.waiting = append(source.waiting, profiles.Event{At: began.Add(time.Duration(at)), Body: b})
	}
	put(0, &profiles.Begin{Info: info, Settings: initial(g, shelf.Table)})
	for _, note := range info.Notes {
		put(0, &profiles.LogEntry{Text: note})
	}
	put(0, &profiles.StateChange{State: profiles.Running})
	end := int64(0)
	for i := range t.Steps {
		s := &t.Steps[i]
		it := profiles.Iteration{Index: int64(i), Start: s.Start, Total: s.Total, InUnit: int32(i), Unit: -1,
			Series: profiles.NoValues()}
		copy(it.Phases[:], s.Phases[:])
		if t.Device {
			it.Series[0] = float64(s.Kernels)
		}
		if i == 0 {
			it.Flags |= profiles.Warmup
		}
		end = s.Start + s.Total
		put(0, &it)
		if i%50 == 49 {
			a.Tick(began.Add(time.Duration(end)))
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if i%4096 == 4095 {
			r.Flush(ctx)
		}
	}
	if len(t.Longest) > 0 {
		var layers []profiles.Layer
		for _, k := range t.Longest {
			layers = append(layers, profiles.Layer{Name: k.Name, Phase: profiles.Phase(k.Phase),
				Nanos: float64(k.Nanos) / float64(len(t.Steps))})
		}
		put(end, &profiles.LayerTimes{Layers: layers})
	}
	put(end, &profiles.StateChange{State: profiles.Finished})
	a.Tick(began.Add(time.Duration(end)))
	return nil
}

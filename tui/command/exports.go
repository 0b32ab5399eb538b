package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/export/files"
	"prismtop/profiles/export/openmetrics"
	"prismtop/profiles/stream"
	"prismtop/profiles/visible"
)

// handedOn is what a run hands on to others while it goes on: files and metrics.
type handedOn struct {
	files   *files.Exports
	any     bool                // there are files or metrics
	metrics *openmetrics.Server // nil without --metrics

	reader *stream.Reader // nil before follow, or if there is nothing to hand on
	stop   func()
	done   chan struct{}
}

// handOn begins the files of --export and takes the address of --metrics, so that a run of hours
// does not fail at its end; metrics reports whether --metrics was given.
func (f *runFlags) handOn(metrics bool) (*handedOn, error) {
	var targets []files.Target
	for _, text := range f.exports {
		t, err := files.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("flag --export: %w", err)
		}
		targets = append(targets, t)
	}
	h := &handedOn{any: len(targets) > 0 || metrics}
	var err error
	if h.files, err = files.Open(targets, version); err != nil {
		return nil, fmt.Errorf("flag --export: %w", err)
	}
	if !metrics {
		return h, nil
	}
	address, err := openmetrics.Address(f.metrics)
	if err == nil {
		h.metrics, err = openmetrics.Listen(address)
	}
	if err != nil {
		h.files.Discard()
		return nil, fmt.Errorf("flag --metrics: %w", err)
	}
	return h, nil
}

// follow begins to hand on the events of a run. newest returns the newest snapshot.
func (h *handedOn) follow(events *stream.Stream, newest func() *profiles.Snapshot) {
	if !h.any {
		return
	}
	var also []func(*profiles.Event)
	if h.metrics != nil {
		collector := openmetrics.New(version, newest)
		also = append(also, collector.Take)
		h.metrics.Serve(collector)
		events.Log("metrics at " + h.metrics.URL())
	}
	h.reader, h.done = events.Follow(), make(chan struct{})
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	go func() {
		defer close(h.done)
		h.files.Follow(ctx, h.reader, newest, events.Refuse, also...)
	}()
}

// end hands on what is left of a run that has ended, completes the files and lists them on w.
func (h *handedOn) end(w io.Writer) error {
	lost := h.unfollow()
	paths, err := h.files.Close(lost)
	if len(paths) > 0 {
		fmt.Fprintln(w, "exported "+visible.Text(strings.Join(paths, ", ")))
	}
	return err
}

// discard ends everything. After end it does nothing; before, the files are not written.
func (h *handedOn) discard() {
	h.unfollow()
	h.files.Discard()
}

// unfollow ends the reader and the server and returns the number of events that the reader lost.
func (h *handedOn) unfollow() (lost int64) {
	if h.metrics != nil {
		h.metrics.Close()
		h.metrics = nil
	}
	if h.reader == nil {
		return 0
	}
	h.stop()
	<-h.done
	lost = h.reader.Dropped()
	h.reader.Close()
	h.reader = nil
	return lost
}

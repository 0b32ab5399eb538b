package command

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"prismtop/profiles/export/files"
	"prismtop/profiles/recording"
	"prismtop/profiles/recording/replay"
	"prismtop/tui/command/cli"
	"prismtop/tui/control"
)

// exporter writes a run from its recording, to files in the working folder: the capability
// control.Exporter of the sources below.
type exporter struct {
	ctx  context.Context // of all exports
	stop context.CancelFunc
	open func(context.Context) (*recording.Reader, error)
	busy sync.Mutex // one export at a time
}

// exportable is a live run that can be exported by key, exportableReplay a replay.
type (
	exportable struct {
		cli.Live
		*exporter
	}
	exportableReplay struct {
		*replay.Player
		*exporter
	}
)

func newExporter(open func(context.Context) (*recording.Reader, error)) *exporter {
	x := &exporter{open: open}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x
}

// exportsRecorded returns the exporter of a run that is being recorded; r is nil if it is not.
func exportsRecorded(r *recording.Recorder) *exporter {
	return newExporter(func(ctx context.Context) (*recording.Reader, error) {
		if r == nil {
			return nil, errors.New("the run is not recorded")
		}
		r.Flush(ctx)
		return recording.OpenOwn(ctx, r.Path(), cli.TableOf)
	})
}

// exportsReplayed returns the exporter of a recording.
func exportsReplayed(path string) *exporter {
	return newExporter(func(ctx context.Context) (*recording.Reader, error) {
		return recording.Open(ctx, path, cli.TableOf)
	})
}

// Formats lists the formats.
func (x *exporter) Formats() (all []control.Format) {
	for _, k := range files.Kinds() {
		all = append(all, control.Format{Name: k.Name, About: k.About})
	}
	return all
}

// Export writes what is recorded to new files in the working folder, named after the recording.
func (x *exporter) Export(format string) ([]string, error) {
	if !x.busy.TryLock() {
		return nil, errors.New("another export is being written")
	}
	defer x.busy.Unlock()
	r, err := x.open(x.ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	name := filepath.Base(r.Path())
	t, err := files.New(format, strings.TrimSuffix(name, filepath.Ext(name)))
	if err != nil {
		return nil, err
	}
	return writeRecording(x.ctx, r, []files.Target{t}, nil)
}

// end cuts an export short, of which nothing is left then, and waits for it.
func (x *exporter) end() {
	x.stop()
	x.busy.Lock()
	defer x.busy.Unlock()
}

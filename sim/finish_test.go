package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// slow makes tasks whose comparisons take some time, and that leave something at their end.
type slow struct {
	workload.Maker
	compares time.Duration
	often    chan struct{} // closed after several comparisons; nil for none
	leaves   error
	made     *slowTask
}

// several is a number of comparisons.
const several = 10

func (m *slow) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	task, err := m.Maker.New(ctx, v, in)
	if err != nil {
		return nil, err
	}
	m.made = &slowTask{Reconstruction: task.(*prism.Reconstruction), how: m}
	return m.made, nil
}

type slowTask struct {
	*prism.Reconstruction
	how      *slow
	compared time.Duration // in all
	longest  time.Duration // comparison
	times    int           // comparisons
	finished int
}

func (s *slowTask) Quality(ctx context.Context) (profiles.Values, error) {
	began := time.Now()
	time.Sleep(s.how.compares)
	v, err := s.Reconstruction.Quality(ctx)
	took := time.Since(began)
	s.longest, s.compared = max(s.longest, took), s.compared+took
	if s.times++; s.times == several && s.how.often != nil {
		close(s.how.often)
	}
	return v, err
}

func (s *slowTask) Finish(context.Context) (string, error) {
	s.finished++
	return "left it there", s.how.leaves
}

// However short the interval is and however long a comparison takes, comparing takes a tenth of
// the time: all comparisons but the last, which the end of the run demands, and the one before it.
func TestComparingTakesAShareOfTheTime(t *testing.T) {
	m := &slow{Maker: workloads.PRISM(workloads.Devices{}), compares: 2 * time.Millisecond, often: make(chan struct{})}
	began := time.Now()
	r, _ := start(t, Options{Maker: m, Metrics: time.Nanosecond,
		Settings: configured(t, append(small, "iterations=100000000", "threshold=0", "init_iterations=0")...)})
	<-m.often
	r.Stop()
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if most := took/10 + 2*m.made.longest; m.made.compared > most {
		t.Errorf("comparisons took %v of %v", m.made.compared, took)
	}
}

// A complete task leaves what others need and says so in the log. If that fails, the run has failed,
// with a checkpoint of its complete state; a run that a limit ends leaves nothing.
func TestACompleteTaskLeavesSomething(t *testing.T) {
	full := errors.New("no room for it")
	for _, tt := range []struct {
		leaves error
		sets   string
		times  int
		state  profiles.State
		log    string
	}{
		{nil, "max_iterations=0", 1, profiles.Finished, "left it there"},
		{full, "max_iterations=0", 1, profiles.Failed, ""},
		{full, "max_iterations=3", 0, profiles.Finished, "ended by max_iterations = 3"},
	} {
		m := &slow{Maker: workloads.PRISM(workloads.Devices{}), leaves: tt.leaves}
		path := filepath.Join(t.TempDir(), "c.npz")
		r, a := start(t, Options{Maker: m, Settings: configured(t, append(small, "iterations=5", "samples=2", tt.sets)...), Checkpoints: Checkpoints{Path: path}})
		err := r.Wait()
		s := a.Tick(time.Now())
		if s.State != tt.state || m.made.finished != tt.times || (s.State == profiles.Failed) != errors.Is(err, full) {
			t.Errorf("%s: %v, finished %d times, %v", tt.sets, s.State, m.made.finished, err)
		}
		if s.State == profiles.Failed && s.Err != full.Error() {
			t.Errorf("%s: the reason is %q", tt.sets, s.Err)
		}
		if tt.log != "" && !slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool { return l.Text == tt.log }) {
			t.Errorf("%s: the log lacks %q: %v", tt.sets, tt.log, s.Log)
		}
		if written, missing := r.LastCheckpoint(); missing != nil || written.Path != path || written.Finished != (tt.times > 0) {
			t.Errorf("%s: checkpoint %+v, %v", tt.sets, written, missing)
		}
	}
}

// A run that saves its picture reports the same quality as one that does not, at every iteration, and the line about the
// picture has the picture's own, which is of weights updated once more.
func TestSavingDoesNotChangeTheQuality(t *testing.T) {
	var curves [2]profiles.Curve
	for i, keeps := range []bool{false, true} {
		r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), KeepOutput: keeps, Metrics: time.Hour,
			Settings: configured(t, append(small, "iterations=100000000", "threshold=0", "max_iterations=15")...)})
		if err := r.Wait(); err != nil {
			t.Fatal(err)
		}
		s := a.Tick(time.Now())
		of := s.Run.Schema.SeriesNamed(s.Run.Schema.Quality)
		if curves[i] = s.Series[of].Curve; s.Series[of].Latest != s.Series[of].Latest || len(curves[i]) == 0 {
			t.Fatalf("no quality: %+v", s.Series[of])
		}
		saved, err := r.WriteReconstruction(t.Context(), filepath.Join(t.TempDir(), "x"))
		if err != nil {
			t.Fatal(err)
		}
		own := r.loop.work.(workload.SavedComparer).SavedQuality()[of]
		if want := fmt.Sprintf("PSNR is %.4g dB", own); own == s.Series[of].Latest || saved.Quality != want {
			t.Errorf("%q is said of the saved picture, want %q, not the run's %v", saved.Quality, want, s.Series[of].Latest)
		}
	}
	if !reflect.DeepEqual(curves[0], curves[1]) {
		t.Errorf("%v without saving, %v with it", curves[0], curves[1])
	}
}

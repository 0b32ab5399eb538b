package cli

import (
	"context"
	"math/rand/v2"
	"time"

	"prismtop/gpu/monitor"
	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/watching"
	"prismtop/sim"
)

// MetricsInterval is the interval at which a run is compared with the truth.
const MetricsInterval = 500 * time.Millisecond

// OnScreen are the options of an aggregator whose snapshots are shown on a screen, with the sensors of a monitor, nil
// for none.
func OnScreen(budget float64, sensors *monitor.Monitor) aggregate.Options {
	o := Observing(sensors)
	o.Pictures = 300 * time.Millisecond
	o.Watching = watching.New(watching.Options{Budget: budget, Seed: rand.Uint64()})
	return o
}

// Observing are the options of an aggregator that reads the sensors of a monitor, nil for none. The monitor starts with
// the first tick.
func Observing(sensors *monitor.Monitor) aggregate.Options {
	if sensors == nil {
		return aggregate.Options{}
	}
	return aggregate.Options{Sensors: sensors.Newest}
}

// Live is a run as the screen sees it.
type Live struct {
	*sim.Run
	Aggregator *aggregate.Aggregator
}

// Snapshots delivers the newest snapshot.
func (l Live) Snapshots() <-chan *profiles.Snapshot { return l.Aggregator.Snapshots() }

// Able returns the commands that the run of a snapshot carries out.
func (l Live) Able(s *profiles.Snapshot) profiles.Kinds { return s.Able() }

// Do asks the run for a command, or its aggregator to attend to a user.
func (l Live) Do(c profiles.Command) error {
	if c.Kind == profiles.AttendCommand {
		l.Aggregator.Attend()
		return nil
	}
	return l.Run.Do(c)
}

// Aggregate starts aggregating; end takes what is left and returns when that is done.
func (l Live) Aggregate() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		l.Aggregator.Run(ctx, 100*time.Millisecond)
		close(ended)
	}()
	return func() {
		cancel()
		<-ended
	}
}

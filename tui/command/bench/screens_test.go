//go:build unix

package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"prismtop/profiles/aggregate"
	"prismtop/profiles/attach"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/stats"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/bench"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/screen"
)

// envSocket and envScreen make this program a screen that is attached to a session until its standard
// input ends: one that draws, one that only receives, or one that does not read. One that drains discards
// what comes without looking at it, for all screens at once: what is left is what they cost the run.
const (
	envSocket = "PRISMTOP_TEST_SOCKET"
	envScreen = "PRISMTOP_TEST_SCREEN"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(envSocket); path != "" {
		if err := attached(path, os.Getenv(envScreen)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// attached is a screen of 120x40 cells at ten frames a second whose output is discarded.
func attached(path, kind string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	cli.ThriftyCollector()
	if kind == "drained" {
		return drain(ctx, path)
	}
	client, err := attach.Attach(ctx, path, attach.ClientOptions{Version: cli.Version, Who: kind, Role: attach.Viewer, Table: cli.TableOf})
	switch {
	case err != nil:
		return err
	case kind == "stopped":
		<-ctx.Done()
		return nil
	}
	ended := make(chan error, 1)
	go func() {
		_, err := client.Run(ctx)
		ended <- err
	}()
	if kind == "received" {
		for range client.Snapshots() {
		}
		return <-ended
	}
	keys, press := io.Pipe()
	go func() { _, _ = io.WriteString(press, terminalClass+terminalClass) }()
	err = screen.Run(ctx, client, screen.Options{Output: io.Discard, Input: keys, Size: [2]int{120, 40}, Environ: []string{"TERM=xterm-256color"},
		Leave: screen.Leave{Text: "-", Always: true}})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, <-ended)
}

// drain attaches as many screens as the benchmark has and discards what they get.
func drain(ctx context.Context, path string) error {
	hello := fmt.Sprintf(`{"protocol":%d,"want":%q,"watch":true,"role":%q}`, attach.Protocol, attach.WantWatch, attach.Viewer)
	head := binary.BigEndian.AppendUint32(nil, uint32(1+len(hello)))
	for range screensAttached {
		c, err := net.Dial("unix", path)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, string(head)+"H"+hello); err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
	<-ctx.Done()
	return nil
}

// screensAttached is how many screens the benchmark attaches.
const screensAttached = 20

// BenchmarkScreensByBlocks is the speed of one run of the baseline while 20 screens in other processes
// are attached to it, relative to that while none is, in balanced blocks as bench watching has them. The
// processors that the screens themselves take are part of it; with one thread, the run leaves some. It
// needs at least six rounds; fewer only show that it works, in blocks of a second.
//
//	go test ./tui/command/bench -run '^$' -bench ScreensByBlocks -benchtime 8x -watch 4s
func BenchmarkScreensByBlocks(b *testing.B) {
	for _, threads := range []int{1, machine.Processors()} {
		for _, kind := range []string{"drawn", "received", "drained", "stopped"} {
			b.Run(fmt.Sprintf("%s/threads=%d", kind, threads), func(b *testing.B) {
				block := *watchTime
				if b.N < 6 && threads > 1 {
					return // one thread has shown that it works
				}
				if b.N < 6 {
					block = min(block, time.Second)
				}
				r := screensByBlocks(b, &watchingBench{Rounds: b.N, Block: block}, "baseline", screensAttached, kind, threads)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(r.Value, "attached/alone")
				b.ReportMetric(r.Low, "attached/alone-low")
				b.ReportMetric(r.High, "attached/alone-high")
			})
		}
	}
}

// screensByBlocks returns the speed of a run of a preset with screens attached over that without.
func screensByBlocks(b testing.TB, w *watchingBench, chosen string, screens int, kind string, threads int) stats.Centre {
	b.Helper()
	folder, err := os.MkdirTemp("", "screens-") // short enough for a socket
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(folder)
	b.Setenv("XDG_RUNTIME_DIR", folder)
	b.Setenv("XDG_STATE_HOME", folder)
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: chosen, Sets: []string{fmt.Sprint("threads=", threads)}})
	if err != nil {
		b.Fatal(err)
	}
	cli.ThriftyCollector()
	events := stream.New(stream.Room)
	run, err := bench.Middle(b.Context(), sim.Options{
		Maker: workloads.PRISM(workloads.Devices{}), Settings: v, Stream: events, Metrics: cli.MetricsInterval, Roofs: cli.JudgeRoofs,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	host := sessions.NewHost(events)
	live := cli.Live{Run: run, Aggregator: aggregate.New(host.Source(events.Follow()), host.Observe(cli.OnScreen(0, nil)))}
	if err := host.Serve(live, ""); err != nil {
		b.Fatal(err)
	}
	defer func() { host.Close(live.Aggregator.Last()) }()
	w.show, w.records = live, events.Follow()
	w.attach = func(ctx context.Context) (func() error, error) { return attachAll(ctx, screens, kind) }
	stop := live.Aggregate()
	defer stop()
	run.Start(b.Context())
	err = w.rounds(b.Context())
	run.Stop()
	if err := errors.Join(err, run.Wait()); err != nil {
		b.Fatal(err)
	}
	return w.result.Ratio
}

// attachAll begins screens and waits until the session has them; end ends them.
func attachAll(ctx context.Context, screens int, kind string) (end func() error, err error) {
	found := attach.List(ctx, sessions.Folders(), cli.Version)
	if len(found) != 1 {
		return nil, fmt.Errorf("%d sessions", len(found))
	}
	var commands []*exec.Cmd
	var keyboards []io.Closer
	end = func() (err error) {
		for _, k := range keyboards {
			_ = k.Close()
		}
		for _, cmd := range commands {
			err = errors.Join(err, cmd.Wait())
		}
		return err
	}
	processes := screens
	if kind == "drained" {
		processes = 1
	}
	for range processes {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), envSocket+"="+found[0].Path, envScreen+"="+kind)
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, errors.Join(err, end())
		}
		commands, keyboards = append(commands, cmd), append(keyboards, stdin)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if found = attach.List(ctx, sessions.Folders(), cli.Version); len(found) == 1 && found[0].Info.Screens == screens {
			return end, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(errors.New("not every screen attached"), end())
		}
	}
}

// Screens in other processes attach and leave between the blocks, and the run goes on.
func TestScreensByBlocks(t *testing.T) {
	w := watchingBench{Rounds: 1, Block: time.Second}
	if r := screensByBlocks(t, &w, "quick", 3, "drawn", 1); !(r.Value > 0) || len(w.result.Watched) != 2 || len(w.result.Alone) != 2 {
		t.Errorf("attached over alone %g, of blocks %v and %v", r.Value, w.result.Watched, w.result.Alone)
	}
}

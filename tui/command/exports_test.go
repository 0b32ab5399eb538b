//go:build unix

package command

import (
	"database/sql"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/export"
	"prismtop/tui/command/cli"
	"prismtop/tui/ptytest"
)

// Whatever ends a run, its exports are complete; only after kill -9 they are not there.
func TestExportsAreWholeOrAbsent(t *testing.T) {
	skipStarts(t)
	for _, c := range []struct {
		name, command, when string
		end                 func(s started)
		status              int
		whole               bool
	}{
		{"SIGTERM", "run --headless ", "iter ", kill(syscall.SIGTERM), 130, true},
		{"ctrl+c", "run --headless ", "iter ", press("ctrl+c"), 130, true},
		{"the terminal is lost", "run ", lastQuestion, kill(syscall.SIGHUP), 130, true},
		{"q on the screen", "run ", lastQuestion, press("q", "y"), 0, true},
		{"kill -9", "run --headless ", "iter ", kill(syscall.SIGKILL), -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			t.Parallel()
			s := startIn(t, ptytest.OpenDrain(t, 120, 40), folder, "exec prismtop "+c.command+unended+" --export chrome=run.json --export pprof=run.pprof")
			s.await(c.when)
			draft := written(t, filepath.Join(folder, ".run.json.*.part"))
			c.end(s)
			if status := s.end(time.Minute); status != c.status {
				t.Errorf("status %d, want %d: %q", status, c.status, s.Received())
			}
			text, err := os.ReadFile(filepath.Join(folder, "run.json"))
			if _, draftErr := os.Stat(draft); (draftErr == nil) == c.whole {
				t.Errorf("the temporary file: %v", draftErr)
			}
			if !c.whole {
				if !os.IsNotExist(err) {
					t.Errorf("run.json: %v", err)
				}
				return
			}
			if err != nil || !json.Valid(text) || !strings.Contains(string(text), `"name":"stopped"`) {
				t.Errorf("the trace is not whole (%v): …%s", err, text[max(0, len(text)-300):])
			}
			if _, err := os.Stat(filepath.Join(folder, "run.pprof")); err != nil {
				t.Error(err)
			}
		})
	}
}

// written waits until something was written to the file that matches a pattern, and returns it.
func written(t *testing.T, pattern string) string {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Size() > 0 {
				return path
			}
		}
	}
	t.Fatalf("nothing was written to %s", pattern)
	return ""
}

// The metrics of a live run count its iterations.
func TestMetricsOfALiveRun(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startOn(t, ptytest.OpenDrain(t, 120, 40), "exec prismtop run --headless --metrics 0 "+unended)
	s.await("iter ")
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`).FindString(s.Received())
	if url == "" {
		t.Fatalf("no address in %q", s.Received())
	}
	counted := regexp.MustCompile(`(?m)^prismtop_iteration_seconds_count ([1-9]\d*)$`)
	running := regexp.MustCompile(`(?m)^prismtop_state\{prismtop_state="running"\} 1(\.0)?$`)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if counted.Match(body) && running.Match(body) && strings.HasSuffix(string(body), "\n# EOF\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no iterations in\n%s", body)
		}
	}
	kill(syscall.SIGTERM)(s)
	if status := s.end(time.Minute); status != 130 {
		t.Errorf("status %d", status)
	}
	if _, err := client.Get(url); err == nil {
		t.Error("the metrics are served after the end")
	}
}

// An address that another program has is no error in the command line.
func TestATakenAddressIsNoUsageError(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	f := runFlags{metrics: taken.Addr().String()}
	_, err = f.handOn(t.Context(), export.Source{}, true)
	if err == nil || cli.ExitStatus(cli.BadUsage(err)) != cli.StatusFailed {
		t.Errorf("%v: status %d, want %d", err, cli.ExitStatus(cli.BadUsage(err)), cli.StatusFailed)
	}
}

// The tables of a run and those of its recording hold the same facts, but for when the first event came.
func TestTablesOfARunAndOfItsRecordingHoldTheSameFacts(t *testing.T) {
	skipStarts(t)
	folder := t.TempDir()
	s := startIn(t, ptytest.OpenDrain(t, 120, 40), folder,
		"prismtop run --headless --preset curve --max-iterations 20 --record run.sqlite --export sqlite=live.db && exec prismtop export run.sqlite sqlite=recorded.db")
	if status := s.end(time.Minute); status != 0 {
		t.Fatalf("status %d: %q", status, s.Received())
	}
	facts := func(name string) map[string]string {
		db, err := sql.Open("sqlite", filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.QueryContext(t.Context(), "SELECT key, CAST(value AS TEXT) FROM recording")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		all := map[string]string{}
		for rows.Next() {
			var key, value string
			if err := rows.Scan(&key, &value); err != nil {
				t.Fatal(err)
			}
			all[key] = value
		}
		return all
	}
	live, recorded := facts("live.db"), facts("recorded.db")
	for _, all := range []map[string]string{live, recorded} {
		if all["began"] == "" || all["file"] != "run.sqlite" || all["host"] == "" {
			t.Errorf("%v", all)
		}
		delete(all, "began")
		delete(all, "began_ns")
	}
	delete(recorded, "ran") // of the parts that were resumed
	if !maps.Equal(live, recorded) {
		t.Errorf("the tables of the run hold %v, those of its recording %v", live, recorded)
	}
}

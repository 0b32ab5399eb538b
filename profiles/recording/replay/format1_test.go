package replay

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// format1 returns the path of a recording of format 1, which also had every table of a database for queries: two starts
// with a change, an ablation's change, a note, alerts, a pause and a stall.
func format1(t *testing.T) string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "format1.sqlite.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "format1.sqlite")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A recording of format 1 is listed, played and marked as it was, and stays as it is.
func TestARecordingOfFormat1IsRead(t *testing.T) {
	path := format1(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	s, err := r.Status(t.Context())
	if err != nil || s.State != recording.Ended || s.Starts != 2 || s.Iterations != 300 || s.Workload != "prism" || s.Preset != "moon" {
		t.Errorf("it is %+v (%v)", s, err)
	}
	marks, err := r.Marks(t.Context())
	var texts []string
	for _, m := range marks {
		texts = append(texts, m.Text)
	}
	for _, want := range []string{"amp: off → bf16, mask_cache: true → false", "pts/1: flat", "start 2"} {
		if !slices.Contains(texts, want) {
			t.Errorf("marks %q, want %q (%v)", texts, want, err)
		}
	}
	iterations := 0
	last, err := Events(t.Context(), r, func(e *profiles.Event) {
		if _, ok := e.Body.(*profiles.Iteration); ok {
			iterations++
		}
	}, func(*profiles.Snapshot) {})
	if err != nil || iterations != 2200 || last.Index != 300 || last.State != profiles.Finished || last.Before.Iterations != 1900 {
		t.Errorf("%d iterations, the last snapshot is %+v (%v)", iterations, last, err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("reading changed the file (%v)", err)
	}
}

// rows returns the rows of a query as texts, numbers to nine digits.
func rows(t *testing.T, path, query string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(to...); err != nil {
			t.Fatal(err)
		}
		var row []string
		for i, v := range values {
			if f, ok := v.(float64); ok {
				v = fmt.Sprintf("%.9g", f)
			}
			row = append(row, fmt.Sprint(columns[i], "=", v))
		}
		all = append(all, strings.Join(row, " "))
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// export writes a recording as a database for queries.
func export(t *testing.T, path string) string {
	t.Helper()
	r := open(t, path)
	facts, err := r.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	origins, err := r.Origins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	d := recording.NewDatabase(&file, recording.Known{Began: r.Began(), Facts: func() map[string]any { return facts }, Whole: true,
		Origins: func(start int) settings.Origins { return origins[start] }})
	if _, err := Events(t.Context(), r, d.Take, d.See); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(0); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "tables.sqlite")
	if err := os.WriteFile(to, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// A database for queries that is made of a recording has what the tables of format 1 had, which its recorder wrote.
func TestADatabaseHasTheTablesOfFormat1(t *testing.T) {
	old := format1(t)
	made := export(t, old)
	for table, columns := range map[string]string{
		"starts": "*", "settings": "*", "metrics": "*", "changes": "*", "measurements": "*", "units": "*", "notes": "*", "sensors": "*", "pictures": "*", "layer_lists": "*", "layer_samples": "*",
		"memory WHERE part <> 'caches'": "*", // written at changes of plans only
		// the recorder kept a place for why a recording stopped, and the end of a run cleared its alerts
		// the times of the log counted from the start
		"recording": "key, trim(value)", "log WHERE text NOT LIKE 'cleared after %'": "text, refused",
		// when the recorder wrote decided how much of an effect was known, and its verdict had another name
		"effects": "start, iteration, keys, replace(verdict, 'invalid', 'not comparable') AS verdict, " +
			"before_ms, quality_drift",
		"alerts":   "start, id, severity, iteration, what, try, raised, cleared IS NULL AS stands",
		"progress": "state, error, starts, iterations, elapsed, median_ms, quality, dropped, ended",
	} {
		query := "SELECT " + columns + " FROM " + table
		was, is := rows(t, old, query), rows(t, made, query)
		slices.Sort(was)
		slices.Sort(is)
		if len(was) == 0 {
			t.Errorf("%s is not tested", table)
		}
		for i := range max(len(was), len(is)) {
			if i >= len(was) || i >= len(is) || was[i] != is[i] {
				t.Errorf("%s, row %d of %d and %d:\n%s\nwas\n%s", table, i, len(was), len(is), at(is, i), at(was, i))
				break
			}
		}
	}
	const blocks = "SELECT start, min(first), max(last) FROM blocks GROUP BY start"
	if was, is := rows(t, old, blocks), rows(t, made, blocks); !slices.Equal(was, is) {
		t.Errorf("%s: %q, was %q", blocks, is, was)
	}
	// The recorder, which was told of ten seconds in an instant, wrote few of them.
	if was, is := len(rows(t, old, "SELECT * FROM readings")), len(rows(t, made, "SELECT * FROM readings")); is < was {
		t.Errorf("%d readings, was %d", is, was)
	}
}

// at returns a row, if it is there.
func at(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "nothing"
}

package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// Result is one array's comparison.
type Result struct {
	Array string `json:"array"`
	// Error is the largest difference from the truth, in the array's units; NaN
	// if nothing could be compared, as explained by Note.
	Error number `json:"error"`
	// Allowed is the largest difference that passes; 0 for exact arrays.
	Allowed number `json:"allowed"`
	OK      bool   `json:"ok"`
	Note    string `json:"note,omitempty"`
}

// count returns a number with its noun.
func count(n int, noun string) string {
	return unit.Plural(n, noun, noun+"s")
}

// number is a float64 whose NaN and infinities are null in JSON.
type number float64

// MarshalJSON writes null where JSON has no number.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// String returns three digits, or a dash for no number.
func (n number) String() string {
	if math.IsNaN(float64(n)) {
		return "-"
	}
	return strconv.FormatFloat(float64(n), 'g', 3, 64)
}

// Report is the result for one file.
type Report struct {
	File    string   `json:"file"`
	OK      bool     `json:"ok"`
	Err     string   `json:"error,omitempty"` // why the file could not be read
	Cases   []string `json:"cases,omitempty"` // "conv2d conv_a", as recognised
	Results []Result `json:"results,omitempty"`
}

// Failed returns the number of results that are not OK.
func (r Report) Failed() int {
	n := 0
	for _, result := range r.Results {
		if !result.OK {
			n++
		}
	}
	return n
}

// OK reports whether every file was read and every array is within its tolerance.
func OK(reports []Report) bool {
	for _, r := range reports {
		if !r.OK {
			return false
		}
	}
	return len(reports) > 0
}

// Failure returns nil if OK is true. Otherwise it states in one line how many arrays
// failed, which files could not be read and why, or both.
func Failure(reports []Report) error {
	if OK(reports) {
		return nil
	}
	var faults []string
	if failed, _ := totals(reports); failed > 0 {
		faults = append(faults, fmt.Sprintf("this build does not reproduce the reference vectors: %s failed",
			count(failed, "array")))
	}
	for _, r := range reports {
		if r.Err != "" {
			faults = append(faults, r.Err)
		}
	}
	if len(faults) == 0 {
		return errors.New("no file was verified")
	}
	return errors.New(strings.Join(faults, "; "))
}

// totals counts the arrays that failed and the files that could not be read.
func totals(reports []Report) (failed, unreadable int) {
	for _, r := range reports {
		failed += r.Failed()
		if r.Err != "" {
			unreadable++
		}
	}
	return failed, unreadable
}

func faults(failed, unreadable int) string {
	var parts []string
	if failed > 0 || unreadable == 0 {
		parts = append(parts, count(failed, "array")+" failed")
	}
	if unreadable > 0 {
		parts = append(parts, count(unreadable, "file")+" could not be read")
	}
	return strings.Join(parts, ", ")
}

// verdict is the result for all files as JSON.
type verdict struct {
	Schema int      `json:"schema"`
	Engine string   `json:"engine"`
	OK     bool     `json:"ok"`
	Files  []Report `json:"files"`
}

// WriteJSON writes one object: the engine, the verdict and every report.
func WriteJSON(w io.Writer, engine string, reports []Report) error {
	document, err := json.MarshalIndent(verdict{1, engine, OK(reports), reports}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(visible.JSON(document), '\n'))
	return err
}

// WriteText writes a readable table: each array with its error and the allowed
// error, and a verdict for each file and for all. The reasons why files could not
// be read are left to Failure.
func WriteText(w io.Writer, engine string, reports []Report) error {
	arrays := 0
	for _, r := range reports {
		if err := r.writeText(w); err != nil {
			return err
		}
		arrays += len(r.Results)
	}
	verdict := "all within tolerance"
	if !OK(reports) {
		verdict = "FAILED: " + faults(totals(reports))
	}
	_, err := fmt.Fprintf(w, "%s: %s in %s: %s\n", engine, count(arrays, "array"), count(len(reports), "file"), verdict)
	return err
}

func (r Report) writeText(w io.Writer) error {
	if r.Err != "" {
		_, err := fmt.Fprintf(w, "%s: not read\n\n", visible.Text(r.File))
		return err
	}
	if _, err := fmt.Fprintf(w, "%s: %s, %s, %d failed\n", visible.Text(r.File), count(len(r.Cases), "case"),
		count(len(r.Results), "array"), r.Failed()); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  array\tmax error\tallowed")
	for _, result := range r.Results {
		mark := "ok"
		if !result.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(table, "  %s\t%v\t%v\t%s\n", visible.Text(result.Array), result.Error, result.Allowed,
			strings.TrimSpace(mark+"  "+visible.Text(result.Note)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

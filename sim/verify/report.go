package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles/report"
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
	var d report.Document
	arrays := 0
	for i := range reports {
		reports[i].describe(&d)
		arrays += len(reports[i].Results)
	}
	verdict := "all within tolerance"
	if !OK(reports) {
		verdict = "FAILED: " + faults(totals(reports))
	}
	d.Paragraph("%s: %s in %s: %s", engine, count(arrays, "array"), count(len(reports), "file"), verdict)
	return d.WriteText(w, 0)
}

func (r Report) describe(d *report.Document) {
	if r.Err != "" {
		d.Paragraph("%s: not read", r.File)
		return
	}
	d.Heading(2, fmt.Sprintf("%s: %s, %s, %d failed", r.File,
		count(len(r.Cases), "case"), count(len(r.Results), "array"), r.Failed()))
	t := d.Table("  array", "max error", "allowed", "")
	for _, result := range r.Results {
		mark := "ok"
		if !result.OK {
			mark = "FAIL"
		}
		t.Add("  "+result.Array, fmt.Sprint(result.Error), fmt.Sprint(result.Allowed),
			strings.TrimSpace(mark+"  "+result.Note))
	}
}

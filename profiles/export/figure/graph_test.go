package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"
)

// A sheet has every graph with its values: points at their places on an axis of powers of
// two, boxes, marks, names, or the reason why there are none.
func TestSheetsShowTheirGraphs(t *testing.T) {
	region := [2]float64{2, 4}
	graphs := []Graph{
		{Title: "Throughput", X: "Batch size", Y: "images/s", Points: []GraphPoint{{1, 10, 9, 11}, {2, 20, 19, 21}, {4, 30, 0, 0}, {8, 5, 0, 0}}, Region: &region,
			Fit: []GraphPoint{{1, 12, 0, 0}, {8, 30, 0, 0}}, Level: &GraphMark{25, "a limit"}, Marks: []GraphMark{{16, "OOM"}}},
		{Title: "Latency", X: "Batch size", Y: "ms", Boxes: []GraphBox{{1, 1, 2, 3, 4, 5}}},
		{Title: "Nothing", Reason: "no <reading>"},
	}
	d := Sheet("A sheet", "three graphs", 900, 300, 3, graphs)
	var svg bytes.Buffer
	if err := d.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A sheet", "Throughput", "Latency", "a limit", "OOM ", "no &lt;reading&gt;", ">8<", ">16<", "images/s"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("no %q in the sheet", want)
		}
	}
	decoder := xml.NewDecoder(&svg)
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	// The distances of doubled sizes are equal.
	across, up, known := graphs[0].axes()
	across.from, across.to, up.from, up.to = 0, 100, 100, 0
	if !known || !(across.at(1) > 0 && across.at(16) < 100) || up.at(30) <= 0 || up.at(0) != 100 {
		t.Errorf("axes %+v, %+v", across, up)
	}
	if d := across.at(4) - across.at(2) - (across.at(2) - across.at(1)); d > 1e-9 || d < -1e-9 {
		t.Errorf("the distances of 1, 2 and 4 differ by %g", d)
	}
	var raster bytes.Buffer
	if err := graphs[0].Draw("one graph", 400, 300).WritePNG(&raster); err != nil {
		t.Fatal(err)
	}
	if picture, err := png.Decode(&raster); err != nil || picture.Bounds().Dx() != 800 {
		t.Errorf("%v, want 800 pixels", err)
	}
}

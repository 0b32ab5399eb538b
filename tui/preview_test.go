package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/screenshot"
)

func TestPreview(t *testing.T) {
	dir := os.Getenv("PRISMTOP_PREVIEW")
	if dir == "" {
		t.Skip("PRISMTOP_PREVIEW names no folder for pictures of the screen")
	}
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, running())
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%dx%d.png", size[0], size[1])))
		if err != nil {
			t.Fatal(err)
		}
		if err := screenshot.PNG(f, cells(m.View().Content, size[0], size[1]), screenshot.Dark); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

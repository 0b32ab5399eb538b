package screen

import (
	"os"
	"path/filepath"
	"testing"

	"prismtop/tui/screenshot"
	"prismtop/tui/tuitest"
)

// Every character that the screen shows can be drawn for the documentation.
func TestEveryCharacterOfTheScreenCanBeDrawn(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.golden", "../lines/testdata/*.golden"} {
		some, err := filepath.Glob(pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("no golden texts in %s: %v", pattern, err)
		}
		files = append(files, some...)
	}
	found := map[rune]string{}
	add := func(where, text string) {
		for _, r := range text {
			if r >= ' ' && found[r] == "" {
				found[r] = where
			}
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		add(file, string(text))
	}
	for id, p := range New(tuitest.NewRecorder(), Options{Settings: tuitest.Running().Settings}).panes {
		for _, paragraph := range p.Explain() {
			add("the help of "+deck.Panes[id].Name, paragraph)
		}
		for _, h := range p.Hints() {
			add("a key of "+deck.Panes[id].Name, h.Key+h.Does)
		}
		for _, h := range paneHints {
			add("a key of "+deck.Panes[id].Name, h.does)
		}
	}
	for _, r := range allKeys() {
		add("the keys", r.Name()+r.Help)
	}
	for r, where := range found {
		if ok, err := screenshot.Draws(r); err != nil || !ok {
			t.Errorf("%q (%U), in %s, cannot be drawn: %v", r, r, where, err)
		}
	}
}

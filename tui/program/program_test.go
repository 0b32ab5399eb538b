//go:build unix

package program

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/muesli/cancelreader"

	"prismtop/tui/terminal"
)

// typed is the input of a visitor: one text, and then nothing until it is cancelled.
type typed struct {
	text      *strings.Reader
	cancelled chan struct{}
	once      sync.Once
}

func (t *typed) Read(p []byte) (int, error) {
	if n, err := t.text.Read(p); err == nil {
		return n, nil
	}
	<-t.cancelled
	return 0, cancelreader.ErrCanceled
}

func (t *typed) Cancel() bool {
	t.once.Do(func() { close(t.cancelled) })
	return true
}

func (t *typed) Close() error { return nil }

// leaver is a model that leaves by q.
type leaver struct{ left chan struct{} }

func (l *leaver) Init() tea.Cmd { return nil }
func (l *leaver) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.Text == "q" {
		l.Leave()
		return l, tea.Quit
	}
	return l, nil
}
func (l *leaver) View() tea.View        { return tea.NewView("") }
func (l *leaver) Mount(Stage)           {}
func (l *leaver) Left() <-chan struct{} { return l.left }
func (l *leaver) Leave() {
	select {
	case <-l.left:
	default:
		close(l.left)
	}
}
func (l *leaver) AnswersDue(time.Time) bool { return false }
func (l *leaver) LastWords() string         { return "" }
func (l *leaver) Failure() error            { return nil }

// What a visitor types behind the key that leaves keeps nothing of the screen: a server shows many.
func TestAVisitorsScreenLeavesNothingBehind(t *testing.T) {
	for _, behind := range []string{
		strings.Repeat("x", 200), strings.Repeat("\x1b[1;5A", 100), strings.Repeat("x", 300) + "\x1b[20", "\x1b[200~" + strings.Repeat("x", 1000) + "\x1b[201~",
		strings.Repeat("\x1b]11;rgb:0000/0000/0000\a", 20), "\x1bP" + strings.Repeat("x", 1000), "",
	} {
		on := terminal.Streams{
			Input: &typed{text: strings.NewReader("q" + behind), cancelled: make(chan struct{})}, Output: io.Discard,
			Environ: []string{"TERM=xterm-256color"}, Size: [2]int{80, 24}, Remote: true,
		}
		if err := Run(t.Context(), &leaver{left: make(chan struct{})}, on); err != nil {
			t.Fatal(err)
		}
	}
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if all := stacks[:runtime.Stack(stacks, true)]; !bytes.Contains(all, []byte("sendEvents")) {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("a reader of keys waits for ever:\n%s", all)
		}
	}
}

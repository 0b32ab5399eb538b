//go:build unix

package terminal

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/ptytest"
)

// A screen gets a size that its terminal took before signals were caught, and keeps it if Bubble Tea delivers the
// first size later.
func TestASizeFromBeforeSignals(t *testing.T) {
	x := ptytest.Open(t, 120, 40)
	defer x.Close()
	done := make(chan struct{})
	c, err := Open(Streams{Input: x.TTY(), Output: x.TTY()}, func() {}, done)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Options(nil)
	x.Resize(100, 30)
	watchedSize(t, c, done, func() {})
}

// Sizes of a terminal elsewhere are kept likewise.
func TestASizeBeforeTheFirst(t *testing.T) {
	sizes, done := make(chan [2]int), make(chan struct{})
	c := &Console{streams: Streams{Size: [2]int{120, 40}, Sizes: sizes}, done: done}
	watchedSize(t, c, done, func() { sizes <- [2]int{100, 30} })
}

// watchedSize checks that the screen gets 100x30, which resize makes.
func watchedSize(t *testing.T, c *Console, done chan struct{}, resize func()) {
	t.Helper()
	first, want := tea.WindowSizeMsg{Width: 120, Height: 40}, tea.WindowSizeMsg{Width: 100, Height: 30}
	sent, ended := make(chan tea.Msg), make(chan struct{})
	go func() {
		defer close(ended)
		c.WatchSize(func(m tea.Msg) { sent <- m })
	}()
	resize()
	if got := <-sent; got != want {
		t.Errorf("the screen gets %v, want %v", got, want)
	}
	if got := c.Newest(first); got != want {
		t.Errorf("the first size becomes %v, want %v", got, want)
	}
	close(done)
	<-ended
}

// What is typed before a screen has the terminal is not for it.
func TestAScreenGetsNoKeysFromBeforeIt(t *testing.T) {
	x := ptytest.Open(t, 80, 24)
	defer x.Close()
	done := make(chan struct{})
	c, err := Open(Streams{Input: x.TTY(), Output: x.TTY()}, func() {}, done)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	defer c.GiveBack()
	x.Press("q")
	x.See("q") // its echo: it waits to be read
	if err := c.Take(); err != nil {
		t.Fatal(err)
	}
	x.Press("b")
	first := make([]byte, 1)
	ptytest.Eventually(t, "a key", func() bool { n, _ := c.keys.Read(first); return n > 0 })
	if first[0] != 'b' {
		t.Errorf("the first key is %q, want b", first)
	}
}

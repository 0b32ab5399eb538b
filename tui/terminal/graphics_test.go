package terminal

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
)

// In tmux the query is passed through to the outer terminal, and so are the pictures, chunk by
// chunk.
func TestPicturesThroughTmux(t *testing.T) {
	g := NewGraphics()
	g.Hear(tea.TerminalVersionMsg{Name: "tmux 3.3a"}, 80, 24)
	cmd, _ := g.Hear(uv.PrimaryDeviceAttributesEvent{1, 2}, 80, 24)
	asked := fmt.Sprint(cmd().(tea.RawMsg).Msg)
	if !strings.HasPrefix(asked, "\x1bPtmux;\x1b\x1b_G") || !strings.Contains(asked, "a=q") {
		t.Fatalf("asked %q", asked)
	}
	if !strings.Contains(g.reason, "allow-passthrough") {
		t.Errorf("no answer is explained by %q", g.reason)
	}
	g.Hear(uv.PrimaryDeviceAttributesEvent{1, 2}, 80, 24) // the answer to another query
	g.Hear(uv.KittyGraphicsEvent{Options: kitty.Options{ID: g.ids[0]}, Payload: []byte("OK")}, 80, 24)
	if g.state != graphicsYes {
		t.Fatalf("after the answer the terminal does not draw: %s", g.reason)
	}
	noise := make([]byte, 8000)
	for i := range noise {
		noise[i] = byte(rand.Int())
	}
	g.Show(0, noise, Size{10, 5})
	sent := fmt.Sprint(g.Send()().(tea.RawMsg).Msg)
	chunks := strings.Split(sent, "\x1bPtmux;")[1:]
	if len(chunks) != 3 {
		t.Fatalf("%d chunks", len(chunks))
	}
	var text strings.Builder
	for i, c := range chunks {
		c = strings.ReplaceAll(strings.TrimSuffix(c, "\x1b\\"), "\x1b\x1b", "\x1b")
		if !strings.HasPrefix(c, "\x1b_G") || !strings.HasSuffix(c, "\x1b\\") {
			t.Fatalf("chunk %d is %.40q … %q", i, c, c[len(c)-4:])
		}
		_, payload, _ := strings.Cut(strings.TrimSuffix(c, "\x1b\\"), ";")
		text.WriteString(payload)
	}
	if got, err := base64.StdEncoding.DecodeString(text.String()); err != nil || !bytes.Equal(got, noise) {
		t.Errorf("what goes through is not what was shown: %v", err)
	}
}

// Pictures overtake neither each other nor their deletion.
func TestTransmissionsKeepTheirOrder(t *testing.T) {
	g := NewGraphics()
	g.Show(0, []byte("one"), Size{4, 2})
	first := g.Send()
	if first == nil || g.Send() != nil {
		t.Fatal("not exactly one transmission is on its way")
	}
	g.Show(0, []byte("two"), Size{4, 2})
	g.Remove(0)
	g.Show(0, []byte("three"), Size{6, 3})
	second, _ := g.Hear(first(), 80, 24)
	if second == nil {
		t.Fatal("the next transmission does not follow")
	}
	text := fmt.Sprint(second().(tea.RawMsg).Msg)
	if !strings.HasPrefix(text, g.deletion(0)) || !strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("three"))) {
		t.Errorf("second transmission %q", text)
	}
	if g.Farewell() != g.deletion(0) {
		t.Errorf("farewell %q", g.Farewell())
	}
}

// Only terminals that do not print unknown sequences are queried.
func TestOldTerminalsAreNotAskedForTheirDepth(t *testing.T) {
	for _, tt := range []struct {
		name  string
		class int
		asked bool
	}{{"xterm", 64, true}, {"", 1, false}, {"tmux 3.5", 62, false}} {
		g := NewGraphics()
		g.Hear(tea.TerminalVersionMsg{Name: tt.name}, 80, 24)
		text := ""
		if cmd, _ := g.Hear(uv.PrimaryDeviceAttributesEvent{tt.class}, 80, 24); cmd != nil {
			text = fmt.Sprint(cmd().(tea.RawMsg).Msg)
		}
		if got := strings.Contains(text, areYouTrue); got != tt.asked {
			t.Errorf("%q of class %d is asked: %v", tt.name, tt.class, got)
		}
	}
	if want := ansi.RequestTermcap("RGB") + ansi.RequestTermcap("Tc"); areYouTrue != want {
		t.Errorf("the question is %q, want %q", areYouTrue, want)
	}
}

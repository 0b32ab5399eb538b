package screen

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/vt"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/chart"
	"prismtop/tui/ptytest"
	"prismtop/tui/tuitest"
)

// drawer is a terminal that draws pictures with Kitty's protocol, and records its commands and
// pictures. It answers in order, as Kitty does.
type drawer struct {
	mu       sync.Mutex
	name     string // its reported name
	waiting  []byte // an incomplete sequence
	images   map[int]drawn
	chunks   strings.Builder
	current  map[string]string
	deleted  int
	replaced int
	faults   []string
	alive    bool // while the alternate screen is on
	late     int  // deletions after that
}

type drawn struct {
	picture image.Image
	w, h    int
}

func newDrawer(name string) *drawer { return &drawer{name: name, images: map[int]drawn{}} }

var question = regexp.MustCompile(`\x1b_G([^;\x1b]*);?([^\x1b]*)\x1b\\|\x1b\[c|\x1b\[>q|\x1b\[16t|\x1b\[\?1049[hl]`)

// receive takes bytes from the screen and returns the terminal's answers.
func (d *drawer) receive(p []byte) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, p...)
	var answers strings.Builder
	for {
		at := question.FindSubmatchIndex(d.waiting)
		if at == nil {
			break
		}
		seq := string(d.waiting[at[0]:at[1]])
		switch {
		case seq == "\x1b[c":
			answers.WriteString("\x1b[?62;22c")
		case seq == "\x1b[>q":
			answers.WriteString("\x1bP>|" + d.name + "\x1b\\")
		case seq == "\x1b[16t":
			answers.WriteString("\x1b[6;18;8t")
		case strings.HasPrefix(seq, "\x1b[?1049"):
			d.alive = strings.HasSuffix(seq, "h")
		default:
			control, payload := d.waiting[at[2]:at[3]], d.waiting[at[4]:at[5]]
			answers.WriteString(d.command(string(control), string(payload)))
		}
		d.waiting = append([]byte(nil), d.waiting[at[1]:]...)
	}
	return answers.String()
}

func (d *drawer) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

// command executes one command of the protocol.
func (d *drawer) command(control, payload string) string {
	keys := map[string]string{}
	for pair := range strings.SplitSeq(control, ",") {
		name, value, _ := strings.Cut(pair, "=")
		keys[name] = value
	}
	if len(payload) > kitty.MaxChunkSize {
		d.fault("a chunk of %d bytes", len(payload))
	}
	id, _ := strconv.Atoi(keys["i"])
	switch {
	case keys["a"] == "q":
		return "\x1b_Gi=" + keys["i"] + ";OK\x1b\\"
	case keys["q"] != "2":
		d.fault("a command that is not quiet: %s", control)
	case keys["a"] == "d":
		if _, ok := d.images[id]; !ok {
			d.fault("picture %d is deleted and not there", id)
		}
		delete(d.images, id)
		d.deleted++
		if !d.alive {
			d.late++
		}
		return ""
	}
	if keys["a"] == "T" {
		d.current, d.chunks = keys, strings.Builder{}
	}
	d.chunks.WriteString(payload)
	if keys["m"] == "1" {
		if len(payload)%4 != 0 {
			d.fault("a chunk of %d bytes is no whole number of fours", len(payload))
		}
		return ""
	}
	d.finish()
	return ""
}

// finish stores a picture after its last chunk.
func (d *drawer) finish() {
	k := d.current
	if k["U"] != "1" || k["f"] != "100" {
		d.fault("not a PNG with placeholders: %v", k)
	}
	data, err := base64.StdEncoding.DecodeString(d.chunks.String())
	if err != nil {
		d.fault("%v", err)
		return
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		d.fault("%v", err)
		return
	}
	id, _ := strconv.Atoi(k["i"])
	w, _ := strconv.Atoi(k["c"])
	h, _ := strconv.Atoi(k["r"])
	if before, ok := d.images[id]; ok {
		d.replaced++
		if before.w != w || before.h != h {
			d.fault("picture %d changed its size without being deleted", id)
		}
	}
	d.images[id] = drawn{img, w, h}
}

// holding returns the pictures that the terminal now draws.
func (d *drawer) holding() map[int]drawn {
	d.mu.Lock()
	defer d.mu.Unlock()
	held := map[int]drawn{}
	for id, i := range d.images {
		held[id] = i
	}
	return held
}

// check compares the pictures with their places on screen: every placeholder belongs to a
// picture, and each picture's places form its rectangle, once.
func (d *drawer) check(at func(x, y int) *uv.Cell, w, h int) error {
	places := map[int]map[[2]int]bool{}
	for y := range h {
		for x := range w {
			c := at(x, y)
			if c == nil || !strings.HasPrefix(c.Content, string(kitty.Placeholder)) {
				continue
			}
			marks := []rune(c.Content)[1:]
			id, ok := c.Style.Fg.(ansi.IndexedColor)
			if len(marks) != 2 || !ok || c.Width != 1 {
				return fmt.Errorf("place %q of colour %v, %d wide", c.Content, c.Style.Fg, c.Width)
			}
			spot := [2]int{diacritics[marks[0]], diacritics[marks[1]]}
			if places[int(id)] == nil {
				places[int(id)] = map[[2]int]bool{}
			}
			if places[int(id)][spot] {
				return fmt.Errorf("place %v of picture %d is there twice", spot, id)
			}
			places[int(id)][spot] = true
		}
	}
	held := d.holding()
	if len(places) != len(held) {
		return fmt.Errorf("%d pictures have places, %d are held", len(places), len(held))
	}
	for id, i := range held {
		for row := range i.h {
			for column := range i.w {
				if !places[id][[2]int{row, column}] {
					return fmt.Errorf("picture %d of %dx%d has no place (%d,%d)", id, i.w, i.h, column, row)
				}
			}
		}
		if len(places[id]) != i.w*i.h {
			return fmt.Errorf("picture %d of %dx%d has %d places", id, i.w, i.h, len(places[id]))
		}
	}
	return nil
}

// diacritics are the numbers encoded by the combining marks.
var diacritics = func() map[rune]int {
	m := map[rune]int{}
	for i := range chart.MaxPlaces {
		m[kitty.Diacritic(i)] = i
	}
	return m
}()

// expectPictures waits until the terminal holds the given number of pictures, and the screen
// their places.
func (x *stage) expectPictures(d *drawer, n int) {
	x.t.Helper()
	var err error
	defer func() {
		if x.t.Failed() {
			x.t.Log(err, "\n", x.Text())
		}
	}()
	ptytest.Eventually(x.t, strconv.Itoa(n)+" pictures", func() bool {
		x.Look(func(e *vt.Emulator) { err = d.check(e.CellAt, e.Width(), e.Height()) })
		return err == nil && len(d.holding()) == n
	})
}

// likeness returns the mean difference between a picture on the terminal and its source, 0 to 1.
func likeness(d drawn, of *profiles.Picture) float64 {
	sum, b := 0.0, d.picture.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			got := float64(color.GrayModel.Convert(d.picture.At(x, y)).(color.Gray).Y) / 255
			want := float64(of.Pixels[y*of.Height/b.Dy()*of.Width+x*of.Width/b.Dx()])
			sum += math.Abs(got - want)
		}
	}
	return sum / float64(b.Dx()*b.Dy())
}

func TestATerminalThatDrawsPictures(t *testing.T) {
	d := newDrawer("kitty(0.42.1)")
	x := openAnswering(t, d.receive, 210, 60, Options{})
	s := tuitest.Running()
	s.Pictures[prism.PictureTruth] = nil
	x.show(s)
	x.expectPictures(d, 1)
	for _, i := range d.holding() {
		if i.picture.ColorModel() != color.GrayModel {
			t.Error("the picture is not grey")
		}
		if got := likeness(i, tuitest.BlurredMoon()); got > 0.02 {
			t.Errorf("the picture differs from the reconstruction by %.3f in the mean", got)
		}
		if shape := float64(i.w*8) / float64(i.h*18); shape < 0.9 || shape > 1.1 {
			t.Errorf("a square picture has %dx%d cells of 8x18 pixels", i.w, i.h)
		}
	}
	// A new picture replaces the old one in its place.
	s = tuitest.Paused()
	ramp := &profiles.Picture{Width: 128, Height: 128, Pixels: make([]float32, 128*128)}
	s.Pictures = [profiles.MaxPictures]*profiles.Picture{ramp}
	for i := range ramp.Pixels {
		ramp.Pixels[i] = float32(i%128) / 127
	}
	x.show(s)
	ptytest.Eventually(t, "the other picture", func() bool {
		for _, i := range d.holding() {
			return likeness(i, ramp) < 0.02
		}
		return false
	})
	d.mu.Lock()
	if d.replaced == 0 || d.deleted != 0 {
		t.Errorf("%d pictures replaced, %d deleted", d.replaced, d.deleted)
	}
	d.mu.Unlock()
	s = tuitest.Paused()
	x.show(s)
	x.expectPictures(d, 2)
	x.Press("\tz") // larger, which a third picture would prevent
	ptytest.Eventually(t, "larger pictures", func() bool {
		all, large := d.holding(), 0
		for _, i := range all {
			if i.w > 60 {
				large++
			}
		}
		return len(all) == 2 && large == 2
	})
	x.Press("x")
	ptytest.Eventually(t, "viridis", func() bool {
		for _, i := range d.holding() {
			if p, ok := i.picture.ColorModel().(color.Palette); ok && p[0] == color.Color(color.RGBA{68, 1, 84, 255}) {
				return true
			}
		}
		return false
	})
	x.Press("v") // the reconstruction alone
	x.expectPictures(d, 1)
	x.Press("\t") // another pane, which hides the picture
	x.expectPictures(d, 0)
	x.Press("\x1b")
	x.expectPictures(d, 1)
	x.Press("q")
	x.See("y quit")
	x.Press("y")
	if err := x.expectEnd(time.Minute); err != nil {
		t.Error(err)
	}
	ptytest.Eventually(t, "the pictures to go", func() bool { return len(d.holding()) == 0 })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.late > 0 {
		t.Errorf("%d pictures were deleted after their screen was left", d.late)
	}
	for _, f := range d.faults {
		t.Error(f)
	}
}

func TestInterruptedScreensLeaveNoPictures(t *testing.T) {
	d := newDrawer("ghostty 1.2.0")
	x := openAnswering(t, d.receive, 120, 40, Options{})
	x.show(tuitest.Running())
	x.expectPictures(d, 2)
	x.stop()
	_ = x.expectEnd(time.Minute)
	ptytest.Eventually(t, "the picture to go", func() bool { return len(d.holding()) == 0 })
}

// If the terminal does not answer, or answers otherwise, half blocks are drawn, and i shows why.
func TestTerminalsThatDoNotDraw(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		answer    func([]byte) string
	}{
		{"silent", "has not answered", func([]byte) string { return "" }},
		{"old", "older than the question", func(p []byte) string {
			return strings.Repeat("\x1b[?1;2c", strings.Count(string(p), "\x1b[c"))
		}},
		{"without graphics", "did not answer the question", nil}, // the emulator
		{"without placeholders", "may not know placeholders", newDrawer("WezTerm 20240203").receive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := openAnswering(t, tt.answer, 120, 40, Options{})
			x.show(tuitest.Running())
			x.See("▀▀▀")
			if strings.Contains(x.Received(), "a=T") {
				t.Error("a picture was sent")
			}
			if tt.name == "without placeholders" {
				return // i enables pictures there
			}
			x.Press("\t")
			ptytest.Eventually(t, tt.why, func() bool {
				x.Press("i")
				for range 20 {
					time.Sleep(5 * time.Millisecond)
					if strings.Contains(x.Text(), tt.why) {
						return true
					}
				}
				return false
			})
			x.See("▀▀▀")
		})
	}
}

// The user can enable graphics that cannot be queried.
func TestKittyGraphicsCanBeTriedWherePlaceholdersAreNotKnown(t *testing.T) {
	d := newDrawer("WezTerm 20240203")
	x := openAnswering(t, d.receive, 120, 40, Options{})
	x.show(tuitest.Running())
	x.See("▀▀▀")
	x.Press("\ti")
	x.expectPictures(d, 2)
	x.Press("i")
	x.expectPictures(d, 0)
	x.See("▀▀▀")
}

// Picture places keep the frame valid at every size and after every key, and the terminal holds
// exactly the pictures that the screen has places for.
func TestPlacesHoldTheScreen(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: every size takes long under the race detector, and no goroutine is there")
	}
	random := rand.New(rand.NewPCG(5, 6))
	at := time.Unix(1e9, 0)
	m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
	d := newDrawer("kitty")
	d.alive = true
	drawsPictures(m)
	m.graphics.Hear(uv.CellSizeEvent{Width: 8, Height: 18}, 120, 40)
	m.redrawPictures()
	m.Leave() // commands waiting for a snapshot end immediately
	// run handles the screen's transmissions as Bubble Tea does.
	run := func(msg tea.Msg) {
		_, cmd := m.Update(msg)
		for range 10 {
			raw, ok := rawOf(cmd)
			if !ok {
				return
			}
			d.receive([]byte(fmt.Sprint(raw.Msg)))
			_, cmd = m.Update(raw)
		}
	}
	w, h := 120, 40
	snaps := []*profiles.Snapshot{tuitest.Running(), tuitest.Paused(), tuitest.Preparing(), tuitest.Finished()}
	snaps[1].Pictures = [profiles.MaxPictures]*profiles.Picture{tuitest.SharpMoon()}
	keys := []string{"v", "x", "i", "z", "?", "esc", "w", "v", "i", "tab", "tab"}
	run(tab)
	for step := range 400 {
		at = at.Add(200 * time.Millisecond)
		switch random.IntN(4) {
		case 0:
			w, h = 1+random.IntN(250), 1+random.IntN(90)
			run(tea.WindowSizeMsg{Width: w, Height: h})
		case 1:
			run(snapshotMsg{snaps[random.IntN(len(snaps))]})
		default:
			if k := keys[random.IntN(len(keys))]; k == "tab" {
				run(tab)
			} else {
				run(pressed(k))
			}
		}
		checkFrame(t, m, w, h)
		if m.help.page != noHelp { // it covers places
			continue
		}
		b := tuitest.Cells(m.View().Content, w, h)
		if err := d.check(b.CellAt, w, h); err != nil {
			t.Fatalf("step %d, %dx%d: %v\n%s", step, w, h, err, tuitest.Shown(b))
		}
	}
	for _, f := range d.faults {
		t.Error(f)
	}
}

// drawsPictures simulates a terminal that reports that it draws pictures.
func drawsPictures(m *Model) {
	m.graphics.Hear(tea.TerminalVersionMsg{Name: "kitty"}, 0, 0)
	m.graphics.Hear(uv.PrimaryDeviceAttributesEvent{62, 22}, 0, 0)
	m.graphics.Hear(uv.KittyGraphicsEvent{Options: kitty.Options{ID: m.graphics.ID(0)}, Payload: []byte("OK")}, 0, 0)
}

// rawOf returns the bytes for the terminal among the commands of a screen being left, none of
// which blocks.
func rawOf(cmd tea.Cmd) (tea.RawMsg, bool) {
	if cmd == nil {
		return tea.RawMsg{}, false
	}
	switch msg := cmd().(type) {
	case tea.RawMsg:
		return msg, true
	case tea.BatchMsg:
		for _, c := range msg {
			if raw, ok := rawOf(c); ok {
				return raw, true
			}
		}
	}
	return tea.RawMsg{}, false
}

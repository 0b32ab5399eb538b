package screen

import (
	"errors"
	"image/color"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/vt"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/machine"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
	"prismtop/tui/widget"
)

// This file plays sessions encoded in bytes: actions of the user, events of the run and behaviour
// of the terminal, in any order. After each step, every line must be as wide as the screen. At
// the end, and before the size changes, the terminal must show the same as an empty one on which
// the frame is drawn.

// fuzzSteps limits the length of a fuzzed session, so that one takes milliseconds.
const fuzzSteps = 12

// FuzzScreen plays random sessions. For a long run:
// go test ./tui/screen -run '^$' -fuzz FuzzScreen -fuzztime 120s -fuzzminimizetime 10x
func FuzzScreen(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(randomBytes(seed, 4*fuzzSteps))
	}
	e := newEmulators()
	f.Fuzz(func(t *testing.T, session []byte) {
		newSession(t, session, e).play(fuzzSteps)
	})
}

// The fuzzer's actions in long sessions: errors in retained state may take many steps to show.
func TestLongWalksHoldTheScreen(t *testing.T) {
	profilestest.OneGoroutine(t)
	steps := 600
	if testing.Short() {
		steps = 100
	}
	e := newEmulators()
	for seed := range uint64(6) {
		newSession(t, randomBytes(1000+seed, 5*steps), e).play(steps)
	}
}

func randomBytes(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// emulators are the terminal of a session and an empty one. Sessions share them because creating
// one costs as much as a session.
type emulators struct{ terminal, blank *vt.Emulator }

func newEmulators() emulators { return emulators{vt.NewEmulator(1, 1), vt.NewEmulator(1, 1)} }

// session is a screen on a terminal, and the bytes that encode the events.
type session struct {
	t     *testing.T
	bytes []byte

	m *Model
	emulators
	w, h  int
	at    time.Time
	stuck bool     // the terminal does not read
	rows  []string // of the last frame checked

	stream     *stream.Stream
	aggregator *aggregate.Aggregator
	settings   settings.Values
	it         profiles.Iteration
}

// sessionKeys returns the keys that users press: every key of the tables, those of panes, lists
// and questions, and an unbound letter.
func sessionKeys() []tea.KeyPressMsg {
	keys := []tea.KeyPressMsg{
		{Code: tea.KeyUp}, {Code: tea.KeyDown}, {Code: tea.KeyLeft}, {Code: tea.KeyRight},
		{Code: tea.KeyPgUp}, {Code: tea.KeyPgDown}, {Code: tea.KeyHome}, {Code: tea.KeyEnd},
		{Code: tea.KeyTab}, {Code: tea.KeyTab, Mod: tea.ModShift}, {Code: tea.KeyEnter}, {Code: tea.KeySpace, Text: " "},
		{Code: tea.KeyEscape}, {Code: tea.KeyBackspace}, {Code: 'ä', Text: "ä"},
		{Code: 'c', Mod: tea.ModCtrl}, {Code: 'l', Mod: tea.ModCtrl}, {Code: 'z', Mod: tea.ModCtrl},
	}
	for r := rune('!'); r <= '~'; r++ {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return keys
}

// newSession opens the screen as encoded in the first bytes.
func newSession(t *testing.T, bytes []byte, e emulators) *session {
	s := &session{t: t, bytes: bytes, emulators: e, at: time.Now()}
	r := tuitest.NewRecorder()
	if s.next()%4 == 0 {
		r.Refuse = errors.New("refused")
	}
	look := s.next()
	s.m = New(r, Options{
		ASCII: look%4 == 0, NoColor: look%5 == 0, Colours: terminal.Colours(look % 4), Bandwidth: terminal.Bandwidth(look / 4 % 3),
		Cores: 2, Settings: tuitest.Running().Settings, Now: func() time.Time { return s.at },
	})
	*s.m.graphics = *terminal.GraphicsFrom(16)
	s.m.out = terminal.Held() // look takes the pending output
	s.m.stray = &terminal.Stray{}
	if _, err := s.terminal.WriteString("\x1bc"); err != nil {
		t.Fatal(err)
	}
	s.m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	s.resize(60+s.mostlySmall(100), 15+s.mostlySmall(40))
	return s
}

// next returns the next byte, 0 after the last.
func (s *session) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

// mostlySmall returns a number from 0 to most, usually small because large ones take long.
func (s *session) mostlySmall(most int) int {
	b := int(s.next())
	return most * b * b / (255 * 255)
}

// fragments are parts of text from outside other than plain letters: escape sequences, control
// characters, and characters of every width, alone and joined.
var fragments = []string{
	"\x1b[2J", "\x1b]0;", "\x9b1m", "\t", "\r\n", "\x00", "\xff", "月光", "ﾊﾝ", "e\u0301", "\u0301", "\u200b", "\u202e",
	"🌕", "🇩🇪", "🇩", "👋🏽", "👩‍🚀", "\u200d", "☺\ufe0f", "1\ufe0f\u20e3", "\u1112\u1161\u11ab", "\u11ab", "நி", "क्षि", "ำ", "﷽", "𒐫", "█", "⣿", "\u00ad", "\U0010eeee",
}

// text returns a text encoded in some of the next bytes.
func (s *session) text() string {
	var text strings.Builder
	for range s.next() % 24 {
		if b := s.next(); b < 128 {
			text.WriteByte(b)
		} else {
			text.WriteString(fragments[int(b)%len(fragments)])
		}
	}
	return text.String()
}

// play plays the session to its end, with at most the given number of steps.
func (s *session) play(steps int) {
	keys := sessionKeys()
	for ; steps > 0 && len(s.bytes) > 0; steps-- {
		s.step(keys)
		s.look()
		if s.over() {
			return
		}
	}
	s.stuck = false
	for range 3 { // the terminal takes the pending output, and the budget allows a frame
		s.later(10 * time.Second)
		s.look()
	}
	if s.m.stale || s.m.out.Lost() {
		s.t.Fatal("a frame is owed after half a minute")
	}
	s.repainted()
	s.redrawn()
}

// over reports whether the user has left.
func (s *session) over() bool {
	select {
	case <-s.m.left:
		return true
	default:
		return false
	}
}

// step performs one action.
func (s *session) step(keys []tea.KeyPressMsg) {
	switch s.next() % 25 {
	case 0:
		s.resize(40+s.mostlySmall(260), 10+s.mostlySmall(90))
	case 1:
		s.resize(1+int(s.next())%100, 1+int(s.next())%30)
	case 2, 3, 4:
		s.iterate(1 + int(s.next())%64)
	case 5:
		s.update(snapshotMsg{states[int(s.next())%len(states)]()})
	case 6:
		s.change()
	case 7, 14:
		s.tell()
	case 8:
		x, y := int(s.next())*s.w/256, int(s.next())*s.h/256
		s.update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	case 9:
		x, y := int(s.next())*s.w/256, int(s.next())*s.h/256
		s.update(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp + tea.MouseButton(s.next()%2)})
	case 10:
		s.later(time.Duration(s.next()) * 20 * time.Millisecond)
	case 11:
		s.update(tea.ColorProfileMsg{Profile: colorprofile.NoTTY + colorprofile.Profile(s.next()%6)})
	case 12:
		s.answer()
	case 13:
		s.stuck = !s.stuck
	case 15:
		s.update(tea.PasteMsg{Content: s.text()})
	default:
		s.update(keys[int(s.next())%len(keys)])
	}
}

// update passes a message to the screen, and runs the returned commands that concern the terminal
// as Bubble Tea does.
func (s *session) update(msg tea.Msg) {
	out := s.m.out
	lost := out.Lost()
	_, cmd := s.m.Update(msg)
	if s.m.crash != nil {
		s.t.Fatalf("%dx%d, %T %v: %v", s.w, s.h, msg, msg, s.m.crash)
	}
	cleared := cmd != nil && reflect.ValueOf(cmd).Pointer() == reflect.ValueOf(tea.ClearScreen).Pointer()
	if cleared || lost && !out.Lost() {
		s.write(ansi.CursorHomePosition + ansi.EraseEntireScreen)
	}
	if s.m.suspension.sleep == asleep {
		s.write(ansi.ResetModeAltScreenSaveCursor)
		s.write(ansi.SetModeAltScreenSaveCursor)
		s.update(awakeMsg{})
	}
}

// write writes as Bubble Tea's renderer does.
func (s *session) write(text string) {
	if _, err := s.m.out.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) resize(w, h int) {
	s.repainted()
	s.w, s.h = w, h
	s.terminal.Resize(w, h)
	s.update(tea.WindowSizeMsg{Width: w, Height: h})
}

// later advances the time.
func (s *session) later(d time.Duration) {
	s.at = s.at.Add(d)
	s.update(secondMsg(s.at))
}

// begin starts a run.
func (s *session) begin() {
	if s.stream != nil {
		return
	}
	r := tuitest.Running()
	s.stream = stream.New(128)
	s.aggregator = aggregate.New(s.stream.Follow(), aggregate.Options{Load: func() machine.Load { return machine.Load{} }})
	s.settings = r.Settings.Settled()
	s.stream.Begin(r.Run, s.settings)
	s.stream.State(profiles.Running, "")
	s.it = profiles.Iteration{Kind: prism.KindLaterSample, Series: tuitest.LossesOf(0.1, 0.2), Total: 5e6}
}

// tick shows the present state of the run, without values that depend on this process.
func (s *session) tick() {
	if s.stream == nil {
		return
	}
	c := *s.aggregator.Tick(s.at)
	c.Memory.RSS, c.Memory.PeakRSS, c.Memory.History.RSS, c.Memory.Trend = 2e8, 3e8, nil, profiles.MemoryTrend{}
	c.Own.Aggregator = 0
	s.update(snapshotMsg{&c})
}

// iterate runs iterations. Losses and times have any magnitude, and are sometimes missing.
func (s *session) iterate(n int) {
	s.begin()
	scale, loss := s.next(), s.next()
	for i := range n {
		it := &s.it
		it.Total = int64(math.Ldexp(1e4*(1+tuitest.Noise(int(it.Index))), int(scale%24)))
		for p := range it.Phases {
			it.Phases[p] = it.Total / int64(p+2)
		}
		it.Series[prism.SeriesLossOld] = math.Ldexp(1+tuitest.Noise(int(it.Index)), int(loss%64)-40)
		it.Series[prism.SeriesLossNew] = it.Series[prism.SeriesLossOld] * (1 + tuitest.Noise(i))
		it.Flags &^= profiles.NonFinite
		if loss >= 254 {
			it.Flags |= profiles.NonFinite
		}
		switch loss {
		case 255:
			it.Series[prism.SeriesLossNew] = math.NaN()
		case 254:
			it.Series[prism.SeriesLossOld] = math.Inf(1)
		}
		s.stream.Iteration(it)
		it.Index++
		it.InUnit++
		it.Start += it.Total
		s.at = s.at.Add(time.Duration(it.Total))
	}
	s.tick()
}

// change changes a setting of the run, or one for the next run.
func (s *session) change() {
	s.begin()
	keys := s.settings.Keys()
	k := keys[int(s.next())%len(keys)]
	before := s.settings.Get(k.Name)
	value := "3"
	switch {
	case k.Type == settings.TypeSwitch && before == "true":
		value = "false"
	case k.Type == settings.TypeSwitch:
		value = "true"
	case len(k.Allowed) > 0:
		value = k.Allowed[int(s.next())%len(k.Allowed)]
	}
	next, err := s.settings.Set(k.Name, value)
	if s.next()%4 == 0 && err == nil {
		s.stream.Next(next)
		s.tick()
		return
	}
	if err != nil {
		return
	}
	s.settings = next.Settled()
	s.stream.Change(profiles.Change{Key: k.Name, Before: before, After: value, Iteration: s.it.Index, Limit: k.Limit}, s.settings)
	s.it.Changes++
	s.iterate(1)
}

// measure adds values of series.
func (s *session) measure(values map[int]float64) {
	m := profiles.Measurement{Iteration: s.it.Index, Unit: s.it.Unit, Values: profiles.NoValues()}
	for series, v := range values {
		m.Values[series] = v
	}
	s.stream.Measure(m)
}

// tell adds other events of the run.
func (s *session) tell() {
	s.begin()
	a, b := float64(s.next()), float64(s.next())
	switch s.next() % 8 {
	case 0:
		s.stream.UnitDone(profiles.UnitResult{
			Unit: s.it.Unit, Iterations: s.it.InUnit, Converged: a > b, Values: tuitest.LossesOf(a/256, b/256), Reached: max(a, b) / 256, Elapsed: time.Duration(a * 1e8)})
		s.it.Unit, s.it.InUnit = s.it.Unit+1, 0
		s.measure(map[int]float64{prism.SeriesCoverage: a / 256})
	case 1:
		s.measure(map[int]float64{prism.SeriesPSNR: a / 4, prism.SeriesSSIM: b / 256, prism.SeriesRMSE: a - b})
	case 2:
		s.stream.Log(s.text())
	case 3:
		s.stream.State(profiles.State(int(a)%int(profiles.Failed+1)), s.text())
	case 4:
		s.m.stray.Add(s.text())
		s.later(time.Second)
	case 5:
		p, side := profiles.Picture{Iteration: s.it.Index}, 1+int(a)/8
		p.Width, p.Height, p.Pixels = side, 1+int(b)/8, make([]float32, side*(1+int(b)/8))
		for i := range p.Pixels {
			p.Pixels[i] = float32(tuitest.Noise(i))
		}
		truth := p
		truth.ID = prism.PictureTruth
		s.stream.Picture(&truth)
		s.stream.Picture(&p)
		s.stream.Answered()
	case 6:
		info := tuitest.Running().Run
		info.Object, info.Notes = s.text(), []string{s.text()}
		s.stream.Begin(info, s.settings)
		s.stream.State(profiles.Running, "")
		s.it = profiles.Iteration{Kind: profiles.Kind(int(a) % 3), Series: tuitest.LossesOf(0.1, 0.2), Total: 5e6}
	case 7:
		s.it.Caches[int(a)%int(profiles.MaxCaches)] = profiles.CacheCounters{
			Enabled: a > b, Hits: int64(a), Misses: int64(b), Entries: int64(a), Bytes: int64(b) << 20, Saved: int64(a-b) * 1e6}
	}
	s.tick()
}

// answer sends an answer of a terminal.
func (s *session) answer() {
	switch s.next() % 8 {
	case 0:
		s.update(tea.BackgroundColorMsg{Color: colour(s.next())})
	case 1:
		s.update(tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset})
	case 2:
		s.update(tea.TerminalVersionMsg{Name: [...]string{"kitty 0.40", "tmux 3.5", "xterm(390)", s.text()}[s.next()%4]})
	case 3:
		s.update(uv.CellSizeEvent{Width: int(s.next()) / 8, Height: int(s.next()) / 4})
	case 4, 5:
		s.update(uv.PrimaryDeviceAttributesEvent{60 + int(s.next())%6, 4})
		s.update(uv.KittyGraphicsEvent{Options: kitty.Options{ID: s.m.graphics.ID(0)}, Payload: []byte("OK")})
	case 6:
		s.update(tea.RawMsg{Msg: terminal.Transmission("")})
	case 7:
		s.update(tea.FocusMsg{})
	}
}

// colour is a grey.
type colour byte

// RGBA returns the colour's components, of 16 bits each.
func (c colour) RGBA() (r, g, b, a uint32) {
	v := uint32(c) * 0x101
	return v, v, v, 0xffff
}

// look checks the frame against the screen, and writes it to the terminal.
func (s *session) look() {
	m := s.m
	if s.over() {
		return
	}
	rows := m.frame.Lines(m.theme)
	if !m.stale && len(rows) != s.h {
		s.t.Fatalf("%dx%d: %d lines", s.w, s.h, len(rows))
	}
	for y, row := range rows {
		if y < len(s.rows) && s.rows[y] == row {
			continue
		}
		if w := ansi.StringWidth(row); w != m.layout.W && !m.stale {
			s.t.Fatalf("%dx%d: line %d is %d wide: %q", s.w, s.h, y, w, row)
		}
		if m.theme.ASCII && strings.IndexFunc(row, func(r rune) bool { return r > '~' }) >= 0 {
			s.t.Fatalf("line %d of an ASCII screen: %q", y, row)
		}
	}
	s.rows = rows
	if m.layout.W >= layout.MinWidth && m.layout.H >= layout.MinHeight && !m.zoomed {
		if err := m.layout.Check(); err != nil {
			s.t.Fatalf("%dx%d: %v", s.w, s.h, err)
		}
	}
	if s.stuck {
		return
	}
	if _, err := s.terminal.Write(m.out.Collect()); err != nil {
		s.t.Fatal(err)
	}
}

// repainted compares the terminal, if it has taken all output, with an empty one on which the
// frame is drawn.
func (s *session) repainted() {
	if s.m.stale || s.m.out.Lost() || s.m.out.Waiting() > 0 {
		return
	}
	var whole strings.Builder
	whole.WriteString("\x1bc")
	for y, row := range s.m.frame.Lines(s.m.theme) {
		whole.WriteString(ansi.CursorPosition(1, y+1))
		whole.WriteString(row)
	}
	s.blank.Resize(s.w, s.h)
	if _, err := s.blank.WriteString(whole.String()); err != nil {
		s.t.Fatal(err)
	}
	for y := range s.h {
		for x := range s.w {
			if got, want := s.terminal.CellAt(x, y), s.blank.CellAt(x, y); !sameCell(got, want) {
				s.t.Fatalf("%dx%d: the terminal shows %+v at %d,%d, an empty one %+v in %q\nby differences\n%s\nfrom scratch\n%s",
					s.w, s.h, got, x, y, want, s.m.frame.Lines(s.m.theme)[y], s.terminal, s.blank)
			}
		}
	}
}

// sameCell reports whether two cells look alike; of a space, only the background is visible.
func sameCell(a, b *uv.Cell) bool {
	blank := func(c *uv.Cell) bool { return c == nil || (c.Content == "" || c.Content == " ") && c.Width <= 1 }
	ground := func(c *uv.Cell) color.Color {
		if c == nil {
			return nil
		}
		return c.Style.Bg
	}
	if blank(a) && blank(b) {
		return ground(a) == ground(b)
	}
	return a != nil && b != nil && a.Equal(b)
}

// redrawn compares the session's frame with one drawn from scratch.
func (s *session) redrawn() {
	before := strings.Join(s.m.frame.Lines(s.m.theme), "\n")
	for _, p := range s.m.panes {
		p.SetSize(0, 0)
	}
	s.m.resize(s.w, s.h)
	s.m.compose()
	if after := strings.Join(s.m.frame.Lines(s.m.theme), "\n"); after != before {
		s.t.Fatalf("%dx%d: the screen\n%s\ndrawn anew\n%s", s.w, s.h, ansi.Strip(before), ansi.Strip(after))
	}
}

// A box over wide characters preserves the width of lines, wherever it cuts them.
func TestABoxOverWideCharactersKeepsTheWidth(t *testing.T) {
	m, _ := screen(t, 60, 15, Options{}, colorprofile.ANSI256)
	for shift := range 2 {
		for w := 6; w < 10; w++ {
			var c, box chart.Canvas
			c.Resize(60, 1)
			c.Text(shift, 0, strings.Repeat("月", 29), theme.Plain)
			box.Resize(w, 1)
			box.Text(0, 0, strings.Repeat("-", w), theme.Plain)
			widget.Overlay(&c, &box)
			if row := c.Lines(m.theme)[0]; ansi.StringWidth(row) != 60 || !strings.Contains(row, "月------") && !strings.Contains(row, " ------") {
				t.Errorf("shifted by %d, a box of %d: %d wide: %q", shift, w, ansi.StringWidth(row), row)
			}
		}
	}
}

package tui

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
)

// graphics is whether this session's terminal draws pictures itself, by Kitty's
// graphics protocol, and what it holds of them. Only the terminal's own answers
// decide. A picture is sent once and stands where the frame has its
// placeholders, which are text like any other.
//
// Asking takes two steps, because a terminal that knows no such questions may
// print them: who it is and what class of terminal, and then, of a VT220 or
// better, whether it draws. tmux answers for itself; the second question is
// handed through it to the terminal behind, where its user allows that.
type graphics struct {
	state   graphicsState
	classed bool   // it said of what class it is
	reason  string // why the terminal draws no pictures
	name    string // what it calls itself
	tmux    bool
	cell    [2]int // size of a cell in pixels, 0 where it is not known

	ids    [pictureSlots]int
	held   [pictureSlots]geometry // what the terminal has
	queue  [pictureSlots]transmission
	flying bool // a transmission is on its way to the terminal
}

// pictureSlots is how many pictures can be on screen at once.
const pictureSlots = 3

// geometry is a picture's size in cells.
type geometry struct{ w, h int }

// transmission is bytes for the terminal that are no part of a frame.
type transmission string

type graphicsState uint8

// The states of the question whether the terminal draws pictures.
const (
	graphicsUnasked   graphicsState = iota // who are you?
	graphicsAsked                          // do you draw?
	graphicsYes                            // it does, where placeholders stand
	graphicsUncertain                      // it does, but may not know placeholders
	graphicsNo
)

// defaultCell is the size of a cell where the terminal does not tell it.
var defaultCell = [2]int{10, 20}

// newGraphics takes ids of its own for this session: programs that share a
// terminal share its pictures. Ids below 16 are left out, whose colours have
// other sequences.
func newGraphics() *graphics {
	g := &graphics{reason: "the terminal has not answered"}
	first := 16 + rand.IntN(240-pictureSlots)
	for i := range g.ids {
		g.ids[i] = first + i
	}
	return g
}

// whoAreYou asks for the terminal's name, its cells' and its screen's size in
// pixels, and its class.
const whoAreYou = ansi.RequestNameVersion + "\x1b[16t\x1b[14t" + ansi.RequestPrimaryDeviceAttributes

// areYouTrue asks whether the terminal has 24-bit colours, by the two names that
// terminfo has for that, RGB and Tc: an SSH login hands over TERM and no COLORTERM.
const areYouTrue = "\x1bP+q524742\x1b\\" + "\x1bP+q5463\x1b\\"

// ask begins to ask the terminal.
func (g *graphics) ask() tea.Cmd { return tea.Raw(whoAreYou) }

// refuse says that the terminal is not to be asked, and why.
func (g *graphics) refuse(reason string) { g.state, g.reason = graphicsNo, reason }

// hear takes what may be an answer of the terminal. changed says that pictures
// may look otherwise now.
func (g *graphics) hear(msg tea.Msg, columns, rows int) (cmd tea.Cmd, changed bool) {
	switch msg := msg.(type) {
	case tea.TerminalVersionMsg:
		g.name = msg.Name
		g.tmux = strings.HasPrefix(strings.ToLower(msg.Name), "tmux")
	case uv.CellSizeEvent:
		return nil, g.setCell(msg.Width, msg.Height)
	case uv.PixelSizeEvent:
		if g.cell == [2]int{} && columns > 0 && rows > 0 {
			return nil, g.setCell(msg.Width/columns, msg.Height/rows)
		}
	case uv.PrimaryDeviceAttributesEvent:
		return g.class(msg), false
	case uv.KittyGraphicsEvent:
		return nil, g.answered(msg)
	case tea.RawMsg:
		if _, ours := msg.Msg.(transmission); ours {
			g.flying = false
			return g.send(), false
		}
	}
	return nil, false
}

func (g *graphics) setCell(w, h int) (changed bool) {
	if w < 2 || h < 2 || w > 200 || h > 400 {
		return false
	}
	changed = g.cell != [2]int{w, h}
	g.cell = [2]int{w, h}
	return changed
}

// class hears the class of the terminal: 62 is a VT220, from where on unknown
// sequences are not printed. The second time it ends the wait for an answer
// that stands before it.
func (g *graphics) class(attributes []int) tea.Cmd {
	g.classed = true
	query := fmt.Sprintf("\x1b_Gi=%d,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", g.ids[0])
	switch {
	case g.state == graphicsAsked && !g.tmux:
		g.refuse("the terminal did not answer the question for Kitty graphics")
	case g.state != graphicsUnasked:
	case g.tmux:
		g.state, g.reason = graphicsAsked, "tmux lets nothing through (allow-passthrough)"
		return tea.Raw(ansi.TmuxPassthrough(query))
	case len(attributes) == 0 || attributes[0] < 62:
		g.refuse("the terminal is older than the question for Kitty graphics")
	default:
		g.state = graphicsAsked
		return tea.Raw(areYouTrue + query + ansi.RequestPrimaryDeviceAttributes)
	}
	return nil
}

// answered hears whether the terminal draws. Placeholders cannot be asked for;
// they are taken for granted where the terminal is of a kind that has them.
func (g *graphics) answered(e uv.KittyGraphicsEvent) (changed bool) {
	if g.state != graphicsAsked || e.Options.ID != g.ids[0] {
		return false
	}
	if string(e.Payload) != "OK" {
		g.refuse("the terminal refused the question for Kitty graphics")
		return false
	}
	g.state = graphicsUncertain
	g.reason = "the terminal draws pictures, but may not know placeholders; i tries"
	name := strings.ToLower(g.name)
	if g.tmux || strings.HasPrefix(name, "kitty") || strings.HasPrefix(name, "ghostty") {
		g.state, g.reason = graphicsYes, ""
	}
	return true
}

// cellSize is the size of a cell in pixels, told or supposed.
func (g *graphics) cellSize() (w, h int) {
	if g.cell == [2]int{} {
		return defaultCell[0], defaultCell[1]
	}
	return g.cell[0], g.cell[1]
}

// show gives the terminal a PNG for a slot, to be drawn over size cells, and
// returns the number of bytes that this takes. A picture replaces the one before
// without a gap; only another size is deleted first, because some terminals keep
// the old places.
func (g *graphics) show(slot int, png []byte, size geometry) int {
	var s strings.Builder
	resized := g.held[slot] != size && g.held[slot] != (geometry{})
	if resized || strings.HasPrefix(string(g.queue[slot]), g.deletion(slot)) {
		s.WriteString(g.deletion(slot))
	}
	control := fmt.Sprintf("a=T,U=1,i=%d,f=100,t=d,c=%d,r=%d,q=2,", g.ids[slot], size.w, size.h)
	text := base64.StdEncoding.EncodeToString(png)
	for text != "" {
		n := min(len(text), kitty.MaxChunkSize)
		more := 1
		if n == len(text) {
			more = 0
		}
		s.WriteString(g.through(fmt.Sprintf("\x1b_G%sm=%d;%s\x1b\\", control, more, text[:n])))
		control, text = "q=2,", text[n:]
	}
	g.held[slot] = size
	g.queue[slot] = transmission(s.String())
	return s.Len()
}

// remove makes the terminal forget a slot's picture.
func (g *graphics) remove(slot int) {
	if g.held[slot] == (geometry{}) {
		return
	}
	g.queue[slot] = transmission(g.deletion(slot))
	g.held[slot] = geometry{}
}

func (g *graphics) deletion(slot int) string {
	return g.through(fmt.Sprintf("\x1b_Ga=d,d=I,i=%d,q=2\x1b\\", g.ids[slot]))
}

// farewell is what makes the terminal forget every picture that it holds.
func (g *graphics) farewell() string {
	var s strings.Builder
	for slot, size := range g.held {
		if size != (geometry{}) {
			s.WriteString(g.deletion(slot))
		}
	}
	return s.String()
}

// forget says that the terminal holds nothing any more.
func (g *graphics) forget() {
	g.held, g.queue = [pictureSlots]geometry{}, [pictureSlots]transmission{}
}

// send hands the next transmission to Bubble Tea, which writes it between two
// frames. One is on its way at a time: commands overtake each other.
func (g *graphics) send() tea.Cmd {
	if g.flying {
		return nil
	}
	for slot, t := range g.queue {
		if t != "" {
			g.queue[slot] = ""
			g.flying = true
			return tea.Raw(t)
		}
	}
	return nil
}

// through wraps a sequence for tmux where that is between.
func (g *graphics) through(seq string) string {
	if g.tmux {
		return ansi.TmuxPassthrough(seq)
	}
	return seq
}

// hear takes an answer of the terminal, or leaves the screen as it is.
func (m *Model) hear(msg tea.Msg) tea.Cmd {
	cmd, changed := m.terminal.hear(msg, m.layout.w, m.layout.h)
	if changed {
		m.stale, m.pictures().stale = true, true
		if m.out != nil {
			m.out.trustPlaces(m.terminal.state == graphicsYes)
		}
	}
	return cmd
}

// pictures is the pane of the reconstruction.
func (m *Model) pictures() *picture { return m.panes[picturePane].(*picture) }

// redrawPictures gives the terminal its pictures again, after it lost them.
func (m *Model) redrawPictures() {
	m.terminal.forget()
	m.pictures().stale = true
	m.stale = true
}

// sendPictures adds to cmd what the terminal is to hold, and tells the output
// what it must be told to forget at the end.
func (m *Model) sendPictures(cmd tea.Cmd) tea.Cmd {
	send := m.terminal.send()
	if send == nil {
		return cmd
	}
	if m.out != nil {
		m.out.setFarewell(m.terminal.farewell())
	}
	return tea.Batch(cmd, send)
}

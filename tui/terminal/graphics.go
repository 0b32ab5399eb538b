package terminal

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

// Graphics reports whether the terminal of this session draws pictures itself, by Kitty's
// graphics protocol, and tracks the pictures it holds. Only the terminal's own answers decide. A
// picture is sent once and appears where the frame contains its placeholders, which are ordinary
// text.
//
// The query has two steps, because a terminal that does not know the questions may print them:
// first its name and class, then, for a VT220 or better, whether it draws. tmux answers the
// first itself; the second is passed through to the outer terminal if the user allows that.
type Graphics struct {
	state   graphicsState
	classed bool   // the terminal has reported its class
	reason  string // why the terminal draws no pictures
	name    string // the terminal's name
	tmux    bool
	cell    [2]int // size of a cell in pixels, 0 if unknown

	ids    [PictureSlots]int
	held   [PictureSlots]Size // pictures held by the terminal
	queue  [PictureSlots]Transmission
	flying bool // a transmission is in progress
}

// PictureSlots is the number of pictures that panes may have on screen: a picture, its truth, their
// difference and its spectrum, in each of five panes.
const PictureSlots = 20

// Size is a picture's size in cells.
type Size struct{ W, H int }

// Transmission holds bytes for the terminal that are not part of a frame.
type Transmission string

type graphicsState uint8

// The states of the query for graphics.
const (
	graphicsUnasked   graphicsState = iota // name and class requested
	graphicsAsked                          // graphics requested
	graphicsYes                            // draws pictures at placeholders
	graphicsUncertain                      // draws pictures, but may not support placeholders
	graphicsNo
)

// defaultCell is the assumed size of a cell, in pixels, if the terminal does not report it.
var defaultCell = [2]int{10, 20}

// firstID is the lowest picture id: colours below 16 are encoded by other sequences.
const firstID = 16

// NewGraphics selects random ids for this session, as programs on the same terminal share its
// pictures.
func NewGraphics() *Graphics { return GraphicsFrom(firstID + rand.IntN(256-firstID-PictureSlots)) }

// GraphicsFrom uses the ids from first, for tests that depend on them.
func GraphicsFrom(first int) *Graphics {
	g := &Graphics{reason: "the terminal has not answered"}
	for i := range g.ids {
		g.ids[i] = first + i
	}
	return g
}

// whoAreYou requests the terminal's name, the sizes of its cells and its screen in pixels, and
// its class.
const whoAreYou = ansi.RequestNameVersion + "\x1b[16t\x1b[14t" + ansi.RequestPrimaryDeviceAttributes

// areYouTrue requests the capability of 24-bit colours by both its terminfo names, RGB and Tc:
// an SSH login passes TERM but not COLORTERM.
const areYouTrue = "\x1bP+q524742\x1b\\" + "\x1bP+q5463\x1b\\"

// Ask starts the query.
func (g *Graphics) Ask() tea.Cmd { return tea.Raw(whoAreYou) }

// Refuse records why the terminal must not be queried.
func (g *Graphics) Refuse(reason string) { g.state, g.reason = graphicsNo, reason }

// Hear takes a message that may be an answer of the terminal. changed reports whether pictures
// may have to be drawn differently.
func (g *Graphics) Hear(msg tea.Msg, columns, rows int) (cmd tea.Cmd, changed bool) {
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
		if _, ours := msg.Msg.(Transmission); ours {
			g.flying = false
			return g.Send(), false
		}
	}
	return nil, false
}

// Draws reports whether the terminal draws pictures at their placeholders.
func (g *Graphics) Draws() bool { return g.state == graphicsYes }

// MayDraw reports whether the terminal draws pictures but may not support placeholders.
func (g *Graphics) MayDraw() bool { return g.state == graphicsUncertain }

// Reason explains why the terminal draws no pictures; empty if it does.
func (g *Graphics) Reason() string { return g.reason }

// AnswerDue reports whether the terminal may still answer. The class is requested last, and
// terminals answer in order.
func (g *Graphics) AnswerDue() bool { return !g.classed || g.state == graphicsAsked }

// ID returns the id of a slot's picture, which its placeholders encode as their colour.
func (g *Graphics) ID(slot int) int { return g.ids[slot] }

// Holds reports whether the terminal has a picture of that size for a slot.
func (g *Graphics) Holds(slot int, size Size) bool { return g.held[slot] == size }

func (g *Graphics) setCell(w, h int) (changed bool) {
	if w < 2 || h < 2 || w > 200 || h > 400 {
		return false
	}
	changed = g.cell != [2]int{w, h}
	g.cell = [2]int{w, h}
	return changed
}

// class handles the class of the terminal: from 62, a VT220, unknown sequences are not printed.
// The second report ends the wait for the answer requested before it.
func (g *Graphics) class(attributes []int) tea.Cmd {
	g.classed = true
	query := fmt.Sprintf("\x1b_Gi=%d,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", g.ids[0])
	switch {
	case g.state == graphicsAsked && !g.tmux:
		g.Refuse("the terminal did not answer the question for Kitty graphics")
	case g.state != graphicsUnasked:
	case g.tmux:
		g.state, g.reason = graphicsAsked, "tmux lets nothing through (allow-passthrough)"
		return tea.Raw(ansi.TmuxPassthrough(query))
	case len(attributes) == 0 || attributes[0] < 62:
		g.Refuse("the terminal is older than the question for Kitty graphics")
	default:
		g.state = graphicsAsked
		return tea.Raw(areYouTrue + query + ansi.RequestPrimaryDeviceAttributes)
	}
	return nil
}

// answered handles the answer whether the terminal draws. Support for placeholders cannot be
// queried; it is assumed for terminals known to have it.
func (g *Graphics) answered(e uv.KittyGraphicsEvent) (changed bool) {
	if g.state != graphicsAsked || e.Options.ID != g.ids[0] {
		return false
	}
	if string(e.Payload) != "OK" {
		g.Refuse("the terminal refused the question for Kitty graphics")
		return false
	}
	g.state = graphicsUncertain
	g.reason = "the terminal draws pictures, but may not know placeholders"
	name := strings.ToLower(g.name)
	if g.tmux || strings.HasPrefix(name, "kitty") || strings.HasPrefix(name, "ghostty") {
		g.state, g.reason = graphicsYes, ""
	}
	return true
}

// CellSize returns the reported or assumed size of a cell in pixels.
func (g *Graphics) CellSize() (w, h int) {
	if g.cell == [2]int{} {
		return defaultCell[0], defaultCell[1]
	}
	return g.cell[0], g.cell[1]
}

// Show queues a PNG for a slot, to be drawn over size cells, and returns the number of bytes. A
// picture replaces the previous one without a gap; if the size differs, the old one is deleted
// first, because some terminals keep its placements.
func (g *Graphics) Show(slot int, png []byte, size Size) int {
	var s strings.Builder
	resized := g.held[slot] != size && g.held[slot] != (Size{})
	if resized || strings.HasPrefix(string(g.queue[slot]), g.deletion(slot)) {
		s.WriteString(g.deletion(slot))
	}
	control := fmt.Sprintf("a=T,U=1,i=%d,f=100,t=d,c=%d,r=%d,q=2,", g.ids[slot], size.W, size.H)
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
	g.queue[slot] = Transmission(s.String())
	return s.Len()
}

// Remove deletes a slot's picture from the terminal.
func (g *Graphics) Remove(slot int) {
	if g.held[slot] == (Size{}) {
		return
	}
	g.queue[slot] = Transmission(g.deletion(slot))
	g.held[slot] = Size{}
}

func (g *Graphics) deletion(slot int) string {
	return g.through(fmt.Sprintf("\x1b_Ga=d,d=I,i=%d,q=2\x1b\\", g.ids[slot]))
}

// Farewell returns the sequences that delete all pictures from the terminal.
func (g *Graphics) Farewell() string {
	var s strings.Builder
	for slot, size := range g.held {
		if size != (Size{}) {
			s.WriteString(g.deletion(slot))
		}
	}
	return s.String()
}

// Forget records that the terminal no longer holds any picture.
func (g *Graphics) Forget() {
	g.held, g.queue = [PictureSlots]Size{}, [PictureSlots]Transmission{}
}

// Send passes the next transmission to Bubble Tea, which writes it between two frames. Only one
// is in progress at a time, because commands may overtake each other.
func (g *Graphics) Send() tea.Cmd {
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

// through wraps a sequence for tmux if the program runs in it.
func (g *Graphics) through(seq string) string {
	if g.tmux {
		return ansi.TmuxPassthrough(seq)
	}
	return seq
}

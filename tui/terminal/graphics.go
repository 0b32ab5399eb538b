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

// Graphics is whether this session's terminal draws pictures itself, by Kitty's
// graphics protocol, and what it holds of them. Only the terminal's own answers
// decide. A picture is sent once and stands where the frame has its
// placeholders, which are text like any other.
//
// Asking takes two steps, because a terminal that knows no such questions may
// print them: who it is and what class of terminal, and then, of a VT220 or
// better, whether it draws. tmux answers for itself; the second question is
// handed through it to the terminal behind, where its user allows that.
type Graphics struct {
	state   graphicsState
	classed bool   // it said of what class it is
	reason  string // why the terminal draws no pictures
	name    string // what it calls itself
	tmux    bool
	cell    [2]int // size of a cell in pixels, 0 where it is not known

	ids    [PictureSlots]int
	held   [PictureSlots]Size // what the terminal has
	queue  [PictureSlots]Transmission
	flying bool // a transmission is on its way to the terminal
}

// PictureSlots is how many pictures can be on screen at once.
const PictureSlots = 3

// Size is a picture's size in cells.
type Size struct{ W, H int }

// Transmission is bytes for the terminal that are no part of a frame.
type Transmission string

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

// firstID is the lowest id of a picture: the colours of those below 16 have other
// sequences.
const firstID = 16

// NewGraphics takes ids of its own for this session: programs that share a
// terminal share its pictures.
func NewGraphics() *Graphics { return GraphicsFrom(firstID + rand.IntN(256-firstID-PictureSlots)) }

// GraphicsFrom takes the ids from first on, in tests, which must know them.
func GraphicsFrom(first int) *Graphics {
	g := &Graphics{reason: "the terminal has not answered"}
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

// Ask begins to ask the terminal.
func (g *Graphics) Ask() tea.Cmd { return tea.Raw(whoAreYou) }

// Refuse says that the terminal is not to be asked, and why.
func (g *Graphics) Refuse(reason string) { g.state, g.reason = graphicsNo, reason }

// Hear takes what may be an answer of the terminal. changed says that pictures
// may look otherwise now.
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

// Draws says whether the terminal draws pictures where their placeholders stand.
func (g *Graphics) Draws() bool { return g.state == graphicsYes }

// MayDraw says that the terminal draws pictures, but may not know placeholders.
func (g *Graphics) MayDraw() bool { return g.state == graphicsUncertain }

// Reason is why the terminal draws no pictures; empty where it does.
func (g *Graphics) Reason() string { return g.reason }

// AnswerDue says whether the terminal may still answer. The question for its class is
// the last, and terminals answer in order.
func (g *Graphics) AnswerDue() bool { return !g.classed || g.state == graphicsAsked }

// ID is the number of a slot's picture, which its placeholders name by their colour.
func (g *Graphics) ID(slot int) int { return g.ids[slot] }

// Holds says whether the terminal has a picture of that size for a slot.
func (g *Graphics) Holds(slot int, size Size) bool { return g.held[slot] == size }

func (g *Graphics) setCell(w, h int) (changed bool) {
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

// answered hears whether the terminal draws. Placeholders cannot be asked for;
// they are taken for granted where the terminal is of a kind that has them.
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

// CellSize is the size of a cell in pixels, told or supposed.
func (g *Graphics) CellSize() (w, h int) {
	if g.cell == [2]int{} {
		return defaultCell[0], defaultCell[1]
	}
	return g.cell[0], g.cell[1]
}

// Show gives the terminal a PNG for a slot, to be drawn over size cells, and
// returns the number of bytes that this takes. A picture replaces the one before
// without a gap; only another size is deleted first, because some terminals keep
// the old places.
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

// Remove makes the terminal forget a slot's picture.
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

// Farewell is what makes the terminal forget every picture that it holds.
func (g *Graphics) Farewell() string {
	var s strings.Builder
	for slot, size := range g.held {
		if size != (Size{}) {
			s.WriteString(g.deletion(slot))
		}
	}
	return s.String()
}

// Forget says that the terminal holds nothing any more.
func (g *Graphics) Forget() {
	g.held, g.queue = [PictureSlots]Size{}, [PictureSlots]Transmission{}
}

// Send hands the next transmission to Bubble Tea, which writes it between two
// frames. One is on its way at a time: commands overtake each other.
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

// through wraps a sequence for tmux where that is between.
func (g *Graphics) through(seq string) string {
	if g.tmux {
		return ansi.TmuxPassthrough(seq)
	}
	return seq
}

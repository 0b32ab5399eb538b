// Package page is a full screen without a run: the colours, keys, help, mouse and messages that the table
// of runs and the comparison share, in the manner of the live screen. What it shows is its Content.
package page

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"prismtop/profiles"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/keys"
	"prismtop/tui/program"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// Content is what a page shows. All methods are called by the page's program, one at a time.
type Content interface {
	// Begin returns the command with which the content starts its messages, each time the page is
	// shown; ctx ends when the page is left.
	Begin(ctx context.Context) tea.Cmd
	// Title names the page beside the program; Status is at the right of the header.
	Title() string
	Status() []widget.Piece
	// Draw draws the content below the header and above the footer.
	Draw(c *chart.Canvas)
	// Dialog draws what lies over the content on a screen of w by h cells; nil for nothing.
	Dialog(w, h int) *chart.Canvas
	// Press handles a key before the bindings do, such as those of an open dialog; false leaves it
	// to them. Paste handles pasted text.
	Press(key string) (tea.Cmd, bool)
	Paste(text string)
	// Click handles a click on a cell below the header, twice a double click, and Wheel a wheel's step, "up" or "down".
	Click(x, y int, twice bool) tea.Cmd
	Wheel(step string)
	// Hear handles a message of the content's own.
	Hear(msg tea.Msg) tea.Cmd
	// Tables returns the bindings in titled groups. Prompt returns the keys in the footer while they
	// do not apply, because a dialog is open; nil if they do.
	Tables() []Table
	Prompt() []widget.KeyGroup
	// Notes are paragraphs of the help.
	Notes() []string
}

// Table is a titled group of bindings.
type Table struct {
	Title string
	Keys  []Binding
}

// Binding is a row of tui/keys and what its action does; nil where the content handles the keys before.
type Binding struct {
	keys.Row
	Run func() tea.Cmd
}

// Bind returns the bindings of a section with what the actions do.
func (p *Page) Bind(of keys.Section, does map[profiles.Action]func() tea.Cmd) Table {
	t := Table{Title: of.Title()}
	for _, r := range p.Keys.Rows(of) {
		t.Keys = append(t.Keys, Binding{r, does[r.Action]})
	}
	return t
}

// Options are the looks of a page and its terminal. The zero value is a page on the process's own
// terminal, with the capabilities of that terminal.
type Options struct {
	ASCII     bool // 7-bit characters only
	Colours   terminal.Colours
	Bandwidth terminal.Bandwidth
	Mouse     bool
	On        terminal.Streams
	Now       func() time.Time // the clock; nil is time.Now
	Keys      *keys.Own        // the user's choices of keys; nil for the defaults
}

// Page is a full screen, which may be shown several times.
type Page struct {
	Keys    *keys.Table // in force
	content Content
	options Options
	now     func() time.Time

	stage   program.Stage
	w, h    int
	theme   *theme.Theme
	ground  terminal.Ground
	colours terminal.Colours
	mouse   bool
	click   click
	pace    terminal.Pacer
	help    *widget.Scroll // nil if closed
	answer  answer
	frame   chart.Canvas
	stale   bool // the frame is older than the state
	asleep  bool

	left        chan struct{} // closed when leaving
	ctx         context.Context
	stop        context.CancelFunc
	questioned  time.Time // when the terminal was queried
	answered    bool      // it has answered the last query
	interrupted bool
	crash       error
}

// answer is a temporary message to the user.
type answer struct {
	text  string
	bad   bool
	until time.Time
}

// answerLife is how long an answer is shown.
const answerLife = 5 * time.Second

// MinWidth and MinHeight are the smallest size of a page.
const (
	MinWidth  = 60
	MinHeight = 15
)

// New returns a page.
func New(content Content, o Options) *Page {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.On.NoColor = o.On.OrOwn().NoColor
	p := &Page{content: content, options: o, now: o.Now, colours: o.Colours, mouse: o.Mouse,
		pace:   terminal.NewPacer(o.Bandwidth),
		ground: terminal.Ground{Profile: colorprofile.ANSI256, Dark: true}}
	p.Keys, _ = keys.For(nil, o.Keys)
	p.reset(context.Background())
	p.retheme()
	return p
}

// Run shows the page until Leave is called, the user quits or ctx ends. Errors are those of
// program.Run. In the background of its shell it waits for the foreground first.
func (p *Page) Run(ctx context.Context) error {
	on := p.options.On.OrOwn()
	if in, ok := on.Input.(term.File); ok && !terminal.InForeground(in.Fd()) {
		terminal.AwaitForeground(in.Fd(), ctx.Done())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	p.reset(ctx)
	return program.Run(ctx, p, p.options.On)
}

// reset prepares the page to be shown, again or for the first time.
func (p *Page) reset(ctx context.Context) {
	p.left, p.stale, p.asleep, p.interrupted, p.crash, p.answered = make(chan struct{}), true, false, false, nil, false
	p.ctx, p.stop = context.WithCancel(ctx)
}

// Say answers the user in the footer.
func (p *Page) Say(text string) {
	p.answer = answer{text: visible.Text(text), until: p.now().Add(answerLife)}
}

// Complain reports an error in the footer.
func (p *Page) Complain(text string) {
	p.Say(text)
	p.answer.bad = true
}

// Context returns a context that ends when the page is left.
func (p *Page) Context() context.Context { return p.ctx }

// Leave releases the waiting commands.
func (p *Page) Leave() {
	select {
	case <-p.left:
	default:
		p.stop()
		close(p.left)
	}
}

// Quit leaves the page.
func (p *Page) Quit() tea.Cmd {
	p.Leave()
	return tea.Quit
}

// Mount takes the terminal.
func (p *Page) Mount(on program.Stage) { p.stage = on }

// Left returns a channel that is closed when the page is left.
func (p *Page) Left() <-chan struct{} { return p.left }

// LastWords returns nothing.
func (p *Page) LastWords() string { return "" }

// Failure returns a panic, or ErrInterrupted after ctrl+c.
func (p *Page) Failure() error {
	switch {
	case p.crash != nil:
		return p.crash
	case p.interrupted:
		return control.ErrInterrupted
	}
	return nil
}

// AnswersDue reports whether the terminal may still answer.
func (p *Page) AnswersDue(now time.Time) bool {
	return !p.answered && p.crash == nil && p.stage.Output != nil && !p.stage.Output.Failed() &&
		program.AnswersExpected(p.questioned, now)
}

// Init starts the content and queries the terminal. The last query is one that every terminal answers.
func (p *Page) Init() tea.Cmd {
	p.questioned = time.Now()
	return tea.Batch(p.content.Begin(p.ctx), program.EverySecond(p.left, second),
		tea.Sequence(tea.Raw(ansi.RequestModeSynchronizedOutput), tea.RequestBackgroundColor,
			tea.Raw(ansi.RequestPrimaryDeviceAttributes)))
}

// secondMsg arrives once a second to drop old answers.
type secondMsg time.Time

func second(t time.Time) tea.Msg { return secondMsg(t) }

// awakeMsg reports that the program was resumed after ctrl+z, or why it was not suspended.
type awakeMsg struct{ err error }

// Update handles a message and redraws the page. A panic ends the program with the terminal restored;
// Run returns it.
func (p *Page) Update(msg tea.Msg) (model tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			p.crash = fmt.Errorf("page: panic: %v\n%s", r, debug.Stack())
			p.Leave()
			model, cmd = p, tea.Quit
		}
	}()
	cmd, data := p.handle(msg)
	if p.stale && p.mayDraw(data) {
		p.compose()
		p.stale = false
		if p.stage.Output != nil {
			p.stage.Output.Frame(&p.frame, p.theme)
		}
	}
	return p, cmd
}

// mayDraw reports whether a frame may be drawn now: none while the terminal is behind, and for data
// only within the budget.
func (p *Page) mayDraw(data bool) bool {
	if p.stage.Output == nil {
		return true
	}
	now := p.now()
	if p.stage.Output.Busy() {
		p.pace.Behind(now)
		return false
	}
	return !data || p.pace.Allows(now, p.stage.Output.Written())
}

// handle handles a message; data reports whether it is not the user's.
func (p *Page) handle(msg tea.Msg) (cmd tea.Cmd, data bool) {
	owed := p.stale
	p.stale = true
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.w, p.h = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		p.ground.Profile = msg.Profile
		p.retheme()
	case tea.BackgroundColorMsg:
		p.ground.Dark = msg.IsDark()
		p.retheme()
	case tea.KeyPressMsg:
		return p.press(msg), false
	case tea.PasteMsg:
		p.content.Paste(msg.Content)
	case tea.MouseClickMsg:
		return p.clicked(msg.Mouse()), false
	case tea.MouseWheelMsg:
		p.wheeled(msg.Mouse())
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset && p.stage.Output != nil {
			p.stage.Output.Synchronize()
		}
		p.stale = owed
	case uv.PrimaryDeviceAttributesEvent:
		p.answered = true
		p.stale = owed
	case awakeMsg:
		p.asleep = false
		if msg.err != nil {
			p.Complain("not suspended: " + msg.err.Error())
		}
	case secondMsg:
		return p.second(), true
	default:
		return p.content.Hear(msg), true
	}
	return nil, false
}

// second drops an old answer, and redraws the screen if the terminal lost output.
func (p *Page) second() tea.Cmd {
	if p.now().After(p.answer.until) {
		p.answer = answer{}
	}
	if out := p.stage.Output; out != nil {
		switch {
		case out.Failed():
			return p.Quit()
		case out.Recovered():
			return tea.Batch(program.EverySecond(p.left, second), tea.ClearScreen)
		}
	}
	return program.EverySecond(p.left, second)
}

// View returns the frame drawn by Update. On a terminal, Bubble Tea only applies the modes,
// because the output has already shown the frame.
func (p *Page) View() tea.View {
	v := tea.NewView(" ") // Bubble Tea would draw every empty frame
	if p.stage.Output == nil {
		v.Content = strings.Join(p.frame.Lines(p.theme), "\n")
	}
	v.AltScreen = true
	if p.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

func (p *Page) retheme() {
	g := p.ground.As(p.colours)
	p.theme = theme.New(g.Profile, g.Dark, p.options.ASCII)
}

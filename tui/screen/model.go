// Package screen implements the live screen of a run: messages, keys, overlays, focus, remembered
// state, and output to a terminal. Its panes are registered in panes.go.
package screen

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/tui/control"
	"prismtop/tui/layout"
	"prismtop/tui/notice"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// Model is the screen: one Bubble Tea model that owns all panes. It draws in Update, so that View
// costs nothing and panics while drawing are caught in one place.
type Model struct {
	source   control.Source
	shared   control.Shared   // nil if this is the only screen
	replay   control.Replay   // nil if it is none
	exporter control.Exporter // nil if it has none
	options  Options
	out      *terminal.Output  // nil if drawn without a terminal
	console  *terminal.Console // nil if drawn without a terminal

	tiling
	overlays
	answers
	ownLog
	asking
	graphics *terminal.Graphics // the terminal's support for pictures
	theme    *theme.Theme
	ground   terminal.Ground
	colours  terminal.Colours

	keys       *bindings // for the settings of the run
	lastAsked  time.Time
	taken      time.Time // when the newest snapshot arrived
	history    history
	mine       map[string]bool   // settings changed in this session
	lastUsed   map[string]string // last values of choices, other than their first
	lastGPU    string            // last value of the setting device that was a GPU, empty for none
	reading    string            // the picture being read for a restart; empty for none
	pending    tea.Cmd           // runs after the current message
	bookmarks  [bookmarkSlots]*bookmark
	storing    bool               // the next digit stores a bookmark
	pressed    string             // the key being handled
	askedAt    *profiles.Ablation // the table when an ablation was asked for
	ablating   bool               // an ablation was requested and has not been reported yet
	wantPaused *bool
	sheet      help
	asker      string // the screen that asks to operate the run, as last said
	mouse      bool
	click      click
	keep       remembered
	keeper     *keeper // nil if nothing is remembered
	note       string  // error in its file

	pace     terminal.Pacer
	pictured terminal.Bandwidth // the bandwidth of the picture budget
	cost     cost
	sleep    sleep
	resume   bool     // resume the run after a suspension
	rows     []string // of the frame
	stale    bool     // the frame is older than the state

	questioned  time.Time     // when the terminal was queried
	left        chan struct{} // closed when leaving the screen
	interrupted bool
	ending      bool      // the run was told to stop
	stopped     time.Time // when
	closed      bool      // there are no more snapshots
	gone        error     // why this screen left a run that continues; nil if it did not
	crash       error
	notices     notice.Notifier
}

// sleep is the progress of a suspension by ctrl+z.
type sleep uint8

const (
	awake         sleep = iota
	fallingAsleep       // until the run is paused
	asleep
)

// New returns the screen of a run. Run shows it on a terminal.
func New(s control.Source, o Options) *Model {
	o = o.withDefaults()
	m := &Model{
		source: s, options: o,
		mine: map[string]bool{}, lastUsed: map[string]string{},

		ground: terminal.Ground{Profile: colorprofile.ANSI256, Dark: true}, colours: o.Colours,
		left:     make(chan struct{}),
		notices:  notice.New(o.Notices, o.Environ),
		answers:  answers{now: o.Now},
		asking:   asking{table: o.Settings.Table(), begins: o.Settings, cores: o.Cores, advice: o.Advice, wishes: wishes{}},
		tiling:   tiling{specs: o.Panes, deck: pane.NewDeck(o.Panes), focus: layout.None},
		pace:     terminal.NewPacer(o.Bandwidth),
		graphics: terminal.NewGraphics(),
		stale:    true,
	}
	m.shared, _ = s.(control.Shared)
	m.replay, _ = s.(control.Replay)
	m.exporter, _ = s.(control.Exporter)
	m.tiling.keep = &m.keep
	m.keys = bindingsOf(o.Settings.Table(), m.able(nil), o.Keys)
	m.without, m.replays, m.listKey = m.lacking(&profiles.Snapshot{}), m.can(profiles.PlayCommand), m.keys.Of("panes")
	for _, s := range m.specs {
		m.panes = append(m.panes, s.New(host{m}))
	}
	m.retheme()
	if o.Remember != "" {
		m.recall(o.Remember)
	}
	m.budgetPicturesFor(m.pace.InForce(m.now()))
	return m
}

// Init requests the first snapshot and queries the terminal's background and support for
// synchronized output, which Bubble Tea does not query over SSH.
func (m *Model) Init() tea.Cmd {
	m.questioned = time.Now()
	class := tea.Raw(ansi.RequestPrimaryDeviceAttributes) // the last query, whose answer ends the wait
	if !m.options.ASCII && !m.options.NoColor {
		class = m.graphics.Ask()
	} else {
		m.graphics.Refuse("the terminal was not asked: --ascii, or no colours")
	}
	return tea.Batch(
		nextSnapshot(m.source.Snapshots(), 0, m.left),
		everySecond(m.left),
		tea.Sequence(tea.Raw(ansi.RequestModeSynchronizedOutput), tea.RequestBackgroundColor, class),
	)
}

// Update handles a message and redraws what it changed. A panic ends the program with the
// terminal restored; Run returns it.
func (m *Model) Update(msg tea.Msg) (model tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			m.crash = fmt.Errorf("screen: panic: %v\n%s", r, debug.Stack())
			m.Leave()
			model, cmd = m, tea.Quit
		}
	}()
	if isInput(msg) {
		_ = m.source.Do(profiles.Command{Kind: profiles.AttendCommand}) // of no consequence to a source that does not attend
	}
	cmd = m.handle(msg)
	if m.pending != nil {
		cmd, m.pending = tea.Batch(cmd, m.pending), nil
	}
	if m.stale && m.mayDraw(isData(msg)) {
		m.compose()
		m.stale = false
		if m.out != nil {
			m.out.Frame(m.rows, m.layout.W, m.layout.H)
		}
		cmd = m.sendPictures(cmd)
	}
	return m, cmd
}

// isData reports whether a message does not come from the user or the terminal.
func isData(msg tea.Msg) bool {
	switch msg.(type) {
	case snapshotMsg, secondMsg, rememberedMsg:
		return true
	}
	return false
}

// isInput reports whether a message is the user's.
func isInput(msg tea.Msg) bool {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.MouseClickMsg, tea.MouseWheelMsg, tea.PasteMsg, tea.WindowSizeMsg:
		return true
	}
	return false
}

// mayDraw reports whether a frame may be drawn now. None is drawn while the terminal is behind.
// Frames for data also wait for the budget; those for user input do not.
func (m *Model) mayDraw(data bool) bool {
	if m.out == nil {
		return true
	}
	now := m.now()
	switch {
	case m.out.Busy():
		m.pace.Behind(now)
	case !data || m.pace.Allows(now, m.out.Written()):
		return true
	default: // required by the budget
		return false
	}
	m.cost.skipped++
	m.cost.skippedAt = now
	return false
}

// View returns the frame drawn by Update. On a terminal, Bubble Tea only applies the modes,
// because the output has already shown the frame.
func (m *Model) View() tea.View {
	v := tea.NewView(" ") // Bubble Tea would draw every empty frame
	if m.out == nil {
		v.Content = strings.Join(m.rows, "\n")
	}
	v.AltScreen = true
	v.MouseMode = m.mouseMode()
	return v
}

// Leave releases the waiting commands.
func (m *Model) Leave() {
	select {
	case <-m.left:
	default:
		close(m.left)
	}
}

func (m *Model) handle(msg tea.Msg) tea.Cmd {
	owed := m.stale
	m.stale = true
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.ColorProfileMsg:
		m.ground.Profile = msg.Profile
		m.retheme()
	case tea.CapabilityMsg:
		m.deepen(msg.Content)
	case tea.BackgroundColorMsg:
		m.ground.Dark = msg.IsDark()
		m.retheme()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseClickMsg:
		m.clicked(msg.Mouse())
	case tea.MouseWheelMsg:
		m.wheeled(msg.Mouse())
	case snapshotMsg:
		return m.take(msg.Snapshot)
	case closedMsg:
		m.closed = true
		m.Leave()
		return tea.Quit
	case tea.PasteMsg:
		switch over := m.top().(type) {
		case noting:
			over.Paste(msg.Content)
		case *typing:
			over.paste(msg.Content)
		case nil:
			if e, _ := m.editor(); e != nil {
				e.Paste(msg.Content)
			}
		}
	case checkedMsg:
		m.checked(msg)
	case answeredMsg:
		m.answered(msg)
	case exportedMsg:
		m.exported(msg)
	case rememberedMsg:
		if msg.err != nil {
			m.complain(fmt.Sprintf("not remembered: %v", msg.err))
		}
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset && m.out != nil {
			m.out.Synchronize()
		}
		m.stale = owed
	case awakeMsg:
		m.wakeUp(msg.err)
	case secondMsg:
		if m.followed() {
			m.stale = owed
		}
		return tea.Batch(m.second(), m.remember())
	default:
		m.stale = owed
		return m.hear(msg)
	}
	return nil
}

// followed reports whether snapshots of a running run arrive. The next one draws what has changed
// meanwhile, so that nothing else draws while watching is suspended.
func (m *Model) followed() bool {
	return m.snap != nil && m.snap.State == profiles.Running && m.now().Sub(m.taken) < 2*time.Second
}

// take adopts a snapshot and requests the next.
func (m *Model) take(s *profiles.Snapshot) tea.Cmd {
	now := m.now()
	m.taken = now
	due := m.pace.Budget(now).Period - now.Sub(m.lastAsked)
	m.lastAsked = now.Add(max(due, 0))
	next := nextSnapshot(m.source.Snapshots(), max(due, 0), m.left)
	if s == nil {
		return next
	}
	m.rebind(s)
	if !m.rewound(s) {
		m.tellNews(s)
	}
	if !m.can(profiles.PlayCommand) {
		m.openOnFailure(m.snap, s)
	}
	missed := ""
	if m.snap == nil {
		missed = m.options.Leave.Missed
		if m.options.Leave.Greeting != "" {
			m.say(m.options.Leave.Greeting)
		}
	}
	var ablation *profiles.Ablation
	if m.snap != nil {
		ablation = m.snap.Ablation
	}
	m.snap = s
	m.adopt(s)
	m.sayDecision(ablation)
	m.notify(missed)
	m.sayWhoAsks()
	shown := m.within(s)
	m.wishes.settle(s, now)
	if words.Ended(s.State) || s.Ablation != nil && (s.Ablation.Running || s.Ablation != m.askedAt) {
		m.ablating = false
	}
	if m.wantPaused != nil && (words.Ended(s.State) || (s.State == profiles.Paused) == *m.wantPaused) {
		m.wantPaused = nil
	}
	if words.Ended(s.State) {
		discard[*comparing](&m.overlays) // the question whether to quit stays: its answer may be on the way
	}
	if len(m.lost()) == 0 {
		discard[restarting](&m.overlays)
	}
	m.show(shown)
	if m.sleep == fallingAsleep && s.State != profiles.Running {
		return tea.Batch(next, m.fallAsleep())
	}
	return next
}

// rebind updates the keys for a run with other settings, and discards requests that referred to
// the old ones.
func (m *Model) rebind(s *profiles.Snapshot) {
	t, can := cmp.Or(s.Settings.Table(), m.table), m.able(s)
	other := t != m.table
	if other || !slices.Equal(can, m.keys.can) {
		m.table = t
		m.keys = bindingsOf(t, can, m.options.Keys)
		m.replays, m.listKey = m.can(profiles.PlayCommand), m.keys.Of("panes")
	}
	if !other {
		return
	}
	m.history, m.bookmarks = history{}, [bookmarkSlots]*bookmark{}
	discard[*valueList](&m.overlays)
	discard[*comparing](&m.overlays)
	discard[*typing](&m.overlays)
	clear(m.wishes)
	clear(m.mine)
	clear(m.lastUsed)
}

// notify sends the notice of the newest snapshot, or of what was missed before, in order with the frames.
func (m *Model) notify(missed string) {
	text := m.notices.Notice(m.snap)
	if text == "" {
		text = m.notices.Missed(missed)
	}
	if text != "" && m.out != nil {
		_, _ = m.out.Write([]byte(text))
	}
}

// tellNews shows new lines of the log once.
func (m *Model) tellNews(s *profiles.Snapshot) {
	var texts []string
	refused := ""
	for _, l := range words.NewLines(m.snap, s) {
		texts = append(texts, l.Text)
		if l.Refused {
			refused = l.Text
		}
	}
	if refused != "" { // the answer to a request
		m.complain(refused)
		return
	}
	if len(texts) > 0 {
		m.news(texts...)
	}
}

// second sums the costs of the last second and expires the status. If the terminal lost output,
// it redraws the screen.
func (m *Model) second() tea.Cmd {
	now := m.now()
	m.status.expire(now)
	if n := len(m.wishes); m.snap != nil && n > 0 {
		if m.wishes.settle(m.snap, now); len(m.wishes) < n {
			m.settingsChanged()
		}
	}
	m.budgetPictures()
	m.overhear()
	if m.out == nil {
		m.cost.sum(now, 0, 0)
		return everySecond(m.left)
	}
	m.cost.sum(now, m.out.Written(), m.out.Frames())
	if m.out.Failed() {
		m.Leave()
		return tea.Quit
	}
	if m.out.Recovered() {
		m.redrawPictures()
		return tea.Batch(everySecond(m.left), tea.ClearScreen)
	}
	return everySecond(m.left)
}

func (m *Model) retheme() {
	g := m.ground.As(m.colours)
	m.theme = theme.New(g.Profile, g.Dark, m.options.ASCII)
	m.repaint(m.theme)
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Panes == nil {
		o.Panes = Panes
	}
	if o.Cores <= 0 {
		o.Cores = machine.Processors()
	}
	return o
}

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
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/layout"
	"prismtop/tui/notice"
	"prismtop/tui/pane"
	"prismtop/tui/program"
	"prismtop/tui/terminal"
)

// Model is the screen: one Bubble Tea model that owns all panes. It routes messages and keys to its pieces, and
// connects these. It draws in Update, so that View costs nothing and panics while drawing are caught in one place.
type Model struct {
	options  Options
	exporter control.Exporter // nil if the source has none
	keys     *bindings        // for the settings of the run

	asking
	answers
	tiling
	overlays
	ownLog
	display
	departure

	seat        seat
	pause       pausing
	playback    playback
	tuning      tuning
	knobs       knobs
	bookmarks   bookmarks
	reading     reading
	experiments experiments
	restarting  restarting
	suspension  suspension
	mouse       mouse
	cost        cost
	help        help

	keep    remembered
	keeper  *keeper // nil if nothing is remembered
	notices notice.Notifier

	taken     time.Time // when the newest snapshot arrived
	lastAsked time.Time
	pressed   string // the key being handled
	frame     chart.Canvas
}

// New returns the screen of a run. Run shows it on a terminal.
func New(s control.Source, o Options) *Model {
	o = o.withDefaults()
	m := &Model{options: o, keys: &bindings{}, notices: notice.New(o.Notices, o.Environ)}
	m.asking = asking{table: o.Settings.Table(), begins: o.Settings, cores: o.Cores, advice: o.Advice, wishes: wishes{}}
	m.answers = answers{now: o.Now}
	m.tiling = tiling{specs: o.Panes, deck: pane.NewDeck(o.Panes), focus: layout.None, keep: &m.keep}
	m.ownLog = ownLog{run: &m.asking, tiles: &m.tiling, footer: &m.answers}
	m.display = display{
		answers: &m.answers, tiles: &m.tiling, keep: &m.keep, plain: o.NoColor, ascii: o.ASCII, colours: o.Colours,
		ground: terminal.Ground{Profile: colorprofile.ANSI256, Dark: true}, graphics: terminal.NewGraphics(),
		pace: terminal.NewPacer(o.Bandwidth), stale: true,
	}
	m.seat = seat{answers: &m.answers, source: s, keys: m.keys}
	m.seat.shared, _ = s.(control.Shared)
	m.exporter, _ = s.(control.Exporter)
	m.departure = departure{seat: &m.seat, run: &m.asking, leave: o.Leave, left: make(chan struct{})}
	m.pause = pausing{seat: &m.seat, asking: &m.asking}
	m.playback = playback{seat: &m.seat, ascii: o.ASCII}
	m.playback.replay, _ = s.(control.Replay)
	m.tuning = tuning{seat: &m.seat, asking: &m.asking, log: &m.ownLog, tiles: &m.tiling, mine: map[string]bool{},
		used: map[string]string{}}
	m.knobs = knobs{tuning: &m.tuning, overlays: &m.overlays}
	m.bookmarks = bookmarks{tuning: &m.tuning}
	m.reading = reading{tuning: &m.tuning}
	m.experiments = experiments{seat: &m.seat, asking: &m.asking, tiles: &m.tiling, overlays: &m.overlays,
		keep: &m.keep}
	m.restarting = restarting{seat: &m.seat, asking: &m.asking}
	m.suspension = suspension{display: &m.display, pause: &m.pause}
	m.mouse = mouse{answers: &m.answers, keep: &m.keep, remote: o.remote()}
	m.cost = cost{run: &m.asking, pause: &m.pause, display: &m.display, tiles: &m.tiling}
	m.help = help{run: &m.asking, tiles: &m.tiling, keys: m.keys, cost: &m.cost}
	m.bind(o.Settings.Table(), m.able(nil))
	m.without = m.lacking(&profiles.Snapshot{})
	for _, s := range m.specs {
		m.panes = append(m.panes, s.New(host{&m.display, &m.knobs, &m.reading, &m.experiments, o.Origins}))
	}
	m.retheme()
	if o.Remember != "" {
		m.recall(o.Remember)
	}
	m.budgetPicturesFor(m.pace.InForce(m.now()))
	return m
}

// Init requests the first snapshot and queries the terminal.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(nextSnapshot(m.seat.source.Snapshots(), 0, m.left), program.EverySecond(m.left, second),
		m.display.ask())
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
		// of no consequence to a source that does not attend
		_ = m.seat.source.Do(profiles.Command{Kind: profiles.AttendCommand})
	}
	cmd = m.handle(msg)
	if m.reading.pending != nil {
		cmd, m.reading.pending = tea.Batch(cmd, m.reading.pending), nil
	}
	if m.stale && m.mayDraw(isData(msg)) {
		m.compose()
		m.stale = false
		if m.out != nil {
			m.out.Frame(&m.frame, m.theme)
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

// View returns the frame drawn by Update. On a terminal, Bubble Tea only applies the modes,
// because the output has already shown the frame.
func (m *Model) View() tea.View {
	v := tea.NewView(" ") // Bubble Tea would draw every empty frame
	if m.out == nil {
		v.Content = strings.Join(m.frame.Lines(m.theme), "\n")
	}
	v.AltScreen = true
	v.MouseMode = m.mouse.mode()
	return v
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
		m.reading.checked(msg)
	case answeredMsg:
		m.seat.answered(msg)
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
		m.suspension.wakeUp(msg.err)
	case secondMsg:
		if m.followed() {
			m.stale = owed
		}
		return tea.Batch(m.second(), m.keeper.begin(m.keep))
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
	next := nextSnapshot(m.seat.source.Snapshots(), max(due, 0), m.left)
	if s == nil {
		return next
	}
	m.rebind(s)
	if !rewound(m.snap, s) && m.tellNews(m.snap, s) {
		clear(m.wishes) // what was refused will not come
	}
	if !m.keys.can(profiles.PlayCommand) && !m.listing() {
		m.help.openOnFailure(m.snap, s)
	}
	missed := ""
	if m.snap == nil {
		missed = m.leave.Missed
		if m.leave.Greeting != "" {
			m.say(m.leave.Greeting)
		}
	}
	var ablation *profiles.Ablation
	var fork *profiles.Fork
	if m.snap != nil {
		ablation, fork = m.snap.Ablation, m.experiments.forking()
	}
	m.snap = s
	m.adopt(s)
	m.experiments.sayDecision(ablation)
	m.experiments.sayFork(fork)
	m.notify(missed)
	m.seat.sayWhoAsks()
	shown := m.within(s)
	m.wishes.settle(s, now)
	m.experiments.settle()
	m.pause.settle()
	if m.over() {
		discard[*comparing](&m.overlays) // the question whether to quit stays: its answer may be on the way
	}
	if len(m.restarting.lost()) == 0 {
		discard[*restarting](&m.overlays)
	}
	m.show(shown)
	if m.suspension.sleep == fallingAsleep && s.State != profiles.Running {
		return tea.Batch(next, m.suspension.fallAsleep())
	}
	return next
}

// able returns the commands that the screen may ask for now, with those that it carries out itself.
func (m *Model) able(s *profiles.Snapshot) profiles.Kinds {
	able := slices.Clip(m.seat.source.Able(s))
	if m.exporter != nil {
		able = append(able, profiles.ExportCommand)
	}
	if m.leave.Text != "" {
		able = append(able, profiles.LeaveCommand)
	}
	if m.deck.Find(settingsPane) != layout.None {
		able = append(able, readCommand)
	}
	return able
}

// bind updates the keys for a table of settings and the commands of a run.
func (m *Model) bind(t *settings.Table, able profiles.Kinds) {
	m.table, *m.keys = t, *bindingsOf(t, able, m.options.Keys)
	m.replays, m.listKey = m.keys.can(profiles.PlayCommand), m.keys.Of("panes")
}

// rebind updates the keys for a run with other settings, and discards requests that referred to
// the old ones.
func (m *Model) rebind(s *profiles.Snapshot) {
	t, able := cmp.Or(s.Settings.Table(), m.table), m.able(s)
	other := t != m.table
	if other || !slices.Equal(able, m.keys.able) {
		m.bind(t, able)
	}
	if !other {
		return
	}
	m.bookmarks.slots = [bookmarkSlots]*bookmark{}
	discard[*valueList](&m.overlays)
	discard[*comparing](&m.overlays)
	discard[*typing](&m.overlays)
	clear(m.wishes)
	m.tuning.forget()
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
		return program.EverySecond(m.left, second)
	}
	m.cost.sum(now, m.out.Written(), m.out.Frames())
	if m.out.Failed() {
		m.Leave()
		return tea.Quit
	}
	if m.out.Recovered() {
		m.redrawPictures()
		return tea.Batch(program.EverySecond(m.left, second), tea.ClearScreen)
	}
	return program.EverySecond(m.left, second)
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

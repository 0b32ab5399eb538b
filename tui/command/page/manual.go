package page

import (
	"strings"
	"time"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"prismtop/tui/keys"
)

// Manual returns the manual page of a program: the command line's part is generated from the commands
// and their flags, the part about keys from the tables of bindings of the screens.
func Manual(root *cobra.Command, listed []keys.Listing) (string, error) {
	root.Long = strings.ReplaceAll(root.Long, "\n", " ")
	page, err := mango.NewManPage(1, root)
	if err != nil {
		return "", err
	}
	doc := &manualPage{roff.NewDocument()}
	page.Build(doc)
	doc.Section("Keys")
	doc.Text("On the live screen, in a replay, in the table of runs and in a comparison:")
	for _, s := range listed {
		doc.Paragraph()
		doc.TextItalic(s.Title + ":")
		for _, r := range s.Rows {
			doc.entry(strings.Join(r.Keys, ", "), r.Help)
		}
	}
	doc.Paragraph()
	doc.Text("A pane that has the keys takes arrows, pgup, pgdown, home, end, and the keys of its view, scale and drawing for itself; its help says what they do there.")
	doc.Section("Environment")
	doc.entry("NO_COLOR", "Not empty: no colours.")
	doc.entry("PRISMTOP_KEY", "A setting, as --set key=value would give it; the key is in capitals.")
	doc.entry("PRISMTOP_WATCH_BUDGET", "As --watch-budget, where that is not given.")
	doc.entry("PRISMTOP_NOTIFY", "As --notify, where that is not given.")
	doc.entry("PRISMTOP_ON_HANGUP", "As --on-hangup, where that is not given.")
	doc.Section("Files")
	doc.entry("$XDG_CONFIG_HOME/prismtop/screen.toml",
		"How the screen was left: panes shown and hidden in each layout, mouse, colours, bandwidth; every start shows the layout everything. A file that cannot be read is left as it is, and the screen says why. Without a screen it is neither read nor written.")
	doc.entry("$XDG_CONFIG_HOME/prismtop/keys.toml",
		`Your own keys: a line such as pause = "z" for each, with the name of an action as prismtop help keys lists it.`)
	doc.entry("$XDG_CONFIG_HOME/prismtop/config.toml", "Settings for all runs, over the preset's; --config none leaves them out. A table such as [cyto] is for one workload.")
	doc.entry("$XDG_STATE_HOME/prismtop/runs", "A recording of every run (~/.local/state/prismtop/runs without that variable): see prismtop runs, --record, --no-record and --record-limit.")
	doc.entry("$XDG_STATE_HOME/prismtop/sessions", "The logs of sessions: see prismtop sessions. Their sockets are in $XDG_RUNTIME_DIR/prismtop.")
	doc.entry("$XDG_STATE_HOME/prismtop/advice-*.json", "What prismtop bench amp found on a machine, which prismtop doctor and the screen quote there.")
	doc.entry("$XDG_STATE_HOME/prismtop/cyto", "The weights that prismtop cyto leaves for predictions, one file per experiment.")
	doc.entry("$XDG_STATE_HOME/prismtop/ptycho", "The weights that prismtop ptycho train leaves for inference, one file per network.")
	doc.Section("After kill -9")
	doc.Text("A program that is killed cannot give the terminal back: it stays in the alternate screen, without a cursor and without " +
		"echo. The command reset, typed blindly, brings it back. " +
		"Ctrl+c, errors and every other signal that ends the program restore it.")
	doc.Section("Signals")
	doc.entry("SIGINT, SIGTERM, SIGHUP", "The run ends in order, within a second: the terminal is restored, the summary printed, "+
		"the reconstruction saved with --save. Exit status 130. A second signal ends the saving too. SIGHUP leaves a run on the screen going where --on-hangup says so, as it does by "+
		"default in an SSH login.")
	doc.entry("SIGQUIT, SIGABRT and others upon which Go prints its goroutines", "The live screen restores the terminal (normal screen, "+
		"cursor, echo, mouse), then the goroutines are printed on standard error. No summary, nothing saved. Exit status 2; 128 and the signal's "+
		"number, 131 for SIGQUIT, without the goroutines where the terminal has stopped reading.")
	doc.entry("SIGXCPU", "The live screen restores the terminal. No summary, nothing saved. Exit status 128 and the signal's number, 152 on Linux.")
	doc.entry("SIGTSTP", "Ctrl+z: stops at the end of an iteration and gives the terminal to the shell; fg goes on.")
	doc.Section("Exit status")
	doc.entry("0", "Done.")
	doc.entry("1", "Failed, or this machine lacks what was asked for: kernels, a device, memory.")
	doc.entry("2", "The command line or a setting is right on no machine, or a signal made the program print its goroutines.")
	doc.entry("3", "A comparison cannot tell what --fail-over asks.")
	doc.entry("4", "bench check has only a reference of another machine.")
	doc.entry("130", "Interrupted.")
	doc.entry("131, 152", "Ended by SIGQUIT or SIGXCPU; see Signals.")
	text := strings.ReplaceAll(doc.String(), "--", `\-\-`) // hyphens that can be copied
	return strings.TrimRight(text, "\n") + "\n", nil
}

// manualPage is a page without a date: its content depends only on the program.
type manualPage struct{ *roff.Document }

// Heading writes the header of the page.
func (p *manualPage) Heading(section uint, title, _ string, _ time.Time) {
	p.Document.Heading(section, title, "User commands", time.Time{})
}

// Text writes text in which per cent signs are literal.
func (p *manualPage) Text(text string) { p.Document.Text(strings.ReplaceAll(text, "%", "%%")) }

// TextBold writes text in bold.
func (p *manualPage) TextBold(text string) {
	p.Document.TextBold(strings.ReplaceAll(text, "%", "%%"))
}

// String returns the page without the date that Heading inserts.
func (p *manualPage) String() string {
	return strings.Replace(p.Document.String(), time.Time{}.Format("2006-01-02"), "", 1)
}

// entry writes a term and its description.
func (p *manualPage) entry(word, means string) {
	p.TaggedParagraph(-1)
	p.TextBold(word)
	p.EndSection()
	p.Text(means)
}

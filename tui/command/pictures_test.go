//go:build unix

package command

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/preset"
	"prismtop/sim/workloads"
	"prismtop/tui/pane"
	"prismtop/tui/ptytest"
	"prismtop/tui/screen"
	"prismtop/tui/screenshot"
)

// This file draws the pictures of the documentation from real runs with the default settings:
//
//	go test ./tui/command -run Pictures -update
//
// Each file records the settings it was drawn with, so that the test fails if a picture is older
// than the defaults.

var update = flag.Bool("update", false, "draw the pictures of docs/ from a real run")

// pictured lists the sizes of the pictures.
var pictured = []struct {
	name          string
	width, height int
}{{"80x24", 80, 24}, {"120x40", 120, 40}, {"200x60", 200, 60}}

// drawn is a pane with its own pictures: the name of their files, and its title.
type drawn struct{ name, title string }

// row is the pane's place in the list of panes, which has those of other workloads, too.
func (d drawn) row() int { return int(pane.NewDeck(screen.Panes).Find(strings.ToLower(d.title))) }

// listed holds the panes in list order.
var listed = []drawn{
	{"phases", "Phases"}, {"reconstruction", "Reconstruction"}, {"caches", "Caches"}, {"loss", "Loss"},
	{"effects", "Effects"}, {"time", "Iteration time"}, {"k-space", "k-space"}, {"memory", "Memory"},
	{"quality", "Quality"}, {"samples", "Samples"}, {"log", "Log"}, {"settings", "Settings"}, {"ablation", "Ablation"},
}

// Indexes of the list.
const (
	cachesPane = 2
	kspacePane = 6
	slopePane  = 7
	logPane    = 10
)

// gallery is the terminal that the pictures are taken of.
type gallery struct {
	*ptytest.Terminal
	folder string // of the documentation
	size   string
	origin screenshot.Note
}

// footer matches the cost of watching or what replaces it.
var footer = regexp.MustCompile(`(watching|ui|thinned)(:| [−0-9])|skipped`)

// resize waits until the screen has drawn its last row at the new size.
func (g *gallery) resize(width, height int) {
	g.Resize(width, height)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		rows := strings.Split(g.Text(), "\n")
		if last := rows[min(height, len(rows))-1]; len(rows) >= height && footer.MatchString(last) {
			break
		}
	}
	g.Idle()
}

func (g *gallery) save(name string) {
	g.Idle()
	g.Save(filepath.Join(g.folder, "screens", name+"-"+g.size+".png"), g.origin)
}

// open shows a pane of the list on the whole screen.
func (g *gallery) open(pane int) { g.zoom(listed[pane]) }

// zoom shows a pane on the whole screen.
func (g *gallery) zoom(d drawn) {
	g.Press("P")
	g.See("enter zooms")
	g.Press("home")
	for range d.row() {
		g.Press("down")
	}
	g.Press("enter")
	g.Gone("enter zooms")
	g.See(" " + d.title + " ")
}

// close returns to all panes.
func (g *gallery) close() {
	g.Press("esc", "esc")
	g.Idle()
}

// view is the next view shown by v: the name of its file, and the text on screen that identifies
// it.
type view struct{ name, says string }

// views saves the views of a pane except the first, to which it returns.
func (g *gallery) views(views ...view) {
	for _, v := range views {
		g.Press("v")
		g.See(v.says)
		g.save(v.name)
	}
	g.Press("v")
}

// origin records the default settings: the preset's name and a digest of all values but those of optional settings that are
// left out, of which no picture is.
func origin(t *testing.T) screenshot.Note {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets()})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	if err := v.Write(&all, nil); err != nil {
		t.Fatal(err)
	}
	text := all.String()
	for _, k := range v.Keys() {
		if k.Optional && v.Text(k.Name) == k.Without {
			text = regexp.MustCompile(`(?m)^`+k.Name+` = .*\n`).ReplaceAllString(text, "")
		}
	}
	return screenshot.Note{Keyword: "Settings", Text: fmt.Sprintf("%s %x", workloads.Presets().Default(), sha256.Sum256([]byte(text)))}
}

func TestPicturesAreOfTheDefaultSettings(t *testing.T) {
	want := origin(t)
	var files []string
	repository := os.DirFS(inRepository(t, "."))
	for _, pattern := range []string{"docs/*.png", "docs/screens/*.png"} {
		found, err := fs.Glob(repository, pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		picture, err := fs.ReadFile(repository, file)
		if err != nil {
			t.Fatal(err)
		}
		notes, err := screenshot.Notes(picture)
		if err != nil || !slices.Contains(notes, want) {
			t.Errorf("%s: drawn with %v (%v), not with the default settings %v: draw it anew by go test ./tui/command -run Pictures -update", file, notes, err, want)
		}
	}
}

// withDefaults returns the program with its default settings.
func withDefaults(t *testing.T, flags ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("prismtop", flags...)
	cmd.Dir = t.TempDir()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PRISMTOP_") {
			t.Fatalf("%s is set: pictures are of the default settings", name)
		}
	}
	return cmd
}

func TestPicturesOfTheDocumentation(t *testing.T) {
	if !*update {
		t.Skip("skipped: draws pictures only with -update")
	}
	docs := inRepository(t, "docs")
	x := ptytest.Open(t, 120, 40)
	cmd := withDefaults(t)
	cmd.Env = trueColor
	x.Start(cmd)
	x.See("Caches", "AMP off")
	x.See("3/1680") // past the initialisation and the first samples
	// Effects to show; u takes each change back, so that the settings are the defaults.
	for _, key := range []string{"p", "u", "a", "u", "c", "u"} {
		x.Press(key)
		time.Sleep(4 * time.Second)
	}
	for _, size := range pictured {
		g := &gallery{x, docs, size.name, origin(t)}
		g.resize(size.width, size.height)
		x.Save(filepath.Join(docs, "screen-"+size.name+".png"), origin(t))
		for _, preset := range []string{"everything", "timing", "quality", "memory", "overview"} {
			x.Press("w")
			x.See("panes: " + preset)
			if preset != "overview" && preset != "everything" { // the screen above, and all panes
				g.save("preset-" + preset)
			}
		}
		x.Gone("panes: overview")
	}
	g := &gallery{x, docs, "120x40", origin(t)}
	x.Press("y") // the times of the layers
	g.open(slopePane)
	x.See("readings") // enough for the slope of memory
	x.Press("space")  // the same state for all panes below
	x.See("paused")
	for i, pane := range listed[:logPane] {
		for j, size := range pictured {
			g := &gallery{x, docs, size.name, origin(t)}
			g.resize(size.width, size.height)
			if j == 0 {
				g.open(i)
			}
			g.save(pane.name)
			if pane.name == "phases" {
				g.views(view{"phases-layers", "Phases · layers"}, view{"phases-roofline", "Phases · roofline"},
					view{"phases-waterfall", "Phases · waterfall"})
			}
		}
	}
	g.resize(120, 40)
	g.overlays()
	x.Press("space", "s", "A", "enter")
	complete(t, x)
	x.Press("space")
	x.See("paused")
	for i, pane := range listed[logPane:] {
		for j, size := range pictured {
			g := &gallery{x, docs, size.name, origin(t)}
			g.resize(size.width, size.height)
			if j == 0 {
				g.open(logPane + i)
			}
			g.save(pane.name)
		}
	}
	x.Press("q", "y")
}

// The pictures of a PyTorch loop are of the demo, by the Python that TORCH_PYTHON names, after a press of a key that is decided.
func TestPicturesOfAPythonLoop(t *testing.T) {
	python := os.Getenv("TORCH_PYTHON")
	if !*update || python == "" {
		t.Skip("skipped: draws pictures only with -update, and with a Python that has PyTorch in TORCH_PYTHON")
	}
	x := ptytest.Open(t, 120, 40)
	cmd := withDefaults(t, "python", "--python", python, "--demo")
	x.Start(cmd)
	x.See("Phases", "Output", "backward", "epoch 1:")
	x.Press("a")
	x.See("as written→bf16", "deciding")
	x.Gone("deciding")
	for _, size := range []struct {
		name          string
		width, height int
	}{{"120x40", 120, 40}, {"80x24", 80, 24}} {
		g := &gallery{x, inRepository(t, "docs"), size.name, origin(t)}
		g.resize(size.width, size.height)
		g.save("python")
	}
	x.Press("q", "y")
	_ = cmd.Wait() // else the program goes on
}

// The picture of the pane of ranks is of four processes, of which one takes longer, by the Python that TORCH_PYTHON names.
func TestPictureOfRanks(t *testing.T) {
	python := os.Getenv("TORCH_PYTHON")
	if !*update || python == "" {
		t.Skip("skipped: draws pictures only with -update, and with a Python that has PyTorch in TORCH_PYTHON")
	}
	x := ptytest.Open(t, 120, 40)
	cmd := withDefaults(t, "python", "--", python, "-m", "torch.distributed.run", "--nproc-per-node", "4",
		inRepository(t, "profiles/loop/python/testdata/ddp.py"), "1000000", "2", "10")
	x.Start(cmd)
	x.See("Phases", "Ranks", "rank 2 is waited for")
	g := &gallery{x, inRepository(t, "docs"), "120x40", origin(t)}
	g.zoom(drawn{"ranks", "Ranks"})
	g.See("rank 2 is waited for")
	g.save("ranks")
	x.Press("q", "y")
	_ = cmd.Wait() // else the program goes on
}

// overlays saves the overlays, and further views of some panes.
func (g *gallery) overlays() {
	g.open(kspacePane)
	g.views(view{"k-space-coverage", "how often each frequency"}, view{"k-space-rings", "what share of each ring"})
	g.open(cachesPane)
	g.Press("?")
	g.See("? all keys")
	g.save("explain")
	g.Press("?")
	g.See("Where to look")
	g.save("keys")
	g.Press("esc")
	g.close()
	g.Press("P")
	g.See("enter zooms")
	g.save("panes")
	g.Press("esc")
	g.Gone("enter zooms")
}

// complete waits for the end of an ablation.
func complete(t *testing.T, x *ptytest.Terminal) {
	t.Helper()
	for deadline := time.Now().Add(12 * time.Minute); !strings.Contains(x.Text(), "ended: complete"); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("the ablation goes on\n%s", x.Text())
		}
	}
	x.See("ended: complete")
}

// Pictures of the same screen on other terminals.
func TestPicturesOfOtherTerminals(t *testing.T) {
	if !*update {
		t.Skip("skipped: draws pictures only with -update")
	}
	docs := inRepository(t, "docs")
	for _, tt := range []struct {
		name, flag, env string
		ground          screenshot.Ground
	}{
		{"light", "--theme=light", "", screenshot.Light},
		{"16-colours", "--theme=dark", "TERM=xterm", screenshot.Dark},
		{"no-colours", "--theme=dark", "NO_COLOR=1", screenshot.Dark},
		{"ascii", "--ascii", "", screenshot.Dark},
	} {
		x := ptytest.Open(t, 120, 40)
		cmd := withDefaults(t, tt.flag)
		cmd.Env = []string{tt.env}
		x.Start(cmd)
		x.See("Caches", " it/s")
		time.Sleep(2 * time.Second)
		x.Press("p")
		time.Sleep(4 * time.Second)
		x.SaveOn(filepath.Join(docs, "screens", tt.name+"-120x40.png"), tt.ground, origin(t))
		x.Press("q", "y")
	}
}

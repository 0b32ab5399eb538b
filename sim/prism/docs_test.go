package prism

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles/preset"
)

// shelves are the presets that the pages are of.
var shelves = preset.Shelves{Presets()}

var update = flag.Bool("update", false, "write the documents that are generated from the settings")

// document compares a generated page with docs/, or writes it.
func checkDocument(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/%s is stale: run go test ./sim/prism -update", name)
	}
}

func TestSettingsPageIsFresh(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Settings

Every setting has one name, used in files, in the environment and on the command line. Later sources win:

1. the preset: ` + "`--preset NAME`, `PRISMTOP_PRESET=NAME`, or `preset = \"NAME\"` in the file; `" + shelves.Default() + "`" + ` by default
2. your own file for all runs, if it is there: ` + "`$XDG_CONFIG_HOME/prismtop/config.toml` (`~/.config/prismtop/config.toml`)" + `
3. a TOML file: ` + "`--config FILE` with `radius = 20`" + `
4. the environment: ` + "`PRISMTOP_RADIUS=20`" + `
5. ` + "`--set radius=20`" + `; of several for one setting the last
6. a setting's own flag, such as ` + "`--seed`, `--max-iterations` or `--image`" + `, before or behind ` + "`--set`" + `: ` + "`--seed 5 --set seed=6`" + ` is 5

Unknown names and bad values are errors. ` + "`prismtop presets show`" + ` prints the result as such a file, with the origin of
each value. A setting marked *live* can change during a run and takes effect at the next iteration. The others wait for the
next start: the settings pane (` + "`,`" + `) accepts them, with the same checks as the command line, and ` + "`R`" + ` restarts with them. The
default column shows preset ` + "`" + shelves.Default() + "`" + `.

Your own file applies to ` + "`run`, `ptycho`, `cyto`, `settings` and `presets show`" + `, not to benchmarks or to ` + "`--resume`" + `; ` + "`--config none`" + ` leaves it out. It serves every
workload: a setting that only other workloads have is ignored, a table such as ` + "`[cyto]`" + ` is for one workload, and ` + "`preset = \"NAME\"`" + ` in front of the tables
is where runs of that preset's workload start.

A settings file is UTF-8 text, with or without a byte order mark, of at most 64 KiB. It may be a pipe, as the shell makes for
` + "`--config <(…)`" + `, or ` + "`/dev/stdin`" + `; the program waits for its end, and ` + "`ctrl+c`" + ` ends the wait. A named pipe that no program has open
for writing yet is an error.

Settings that need more memory than the machine has are rejected, naming the setting to change. Only the minimum is counted:
weights with their moments, the planes of the field, the apertures. Activations and work space are not included (a field of
4096 filled by the object takes 4.8 GB, of which 3.7 are counted), so the system may still end a run that only just passes.

A threshold belongs to the loss it was given for: ` + "`loss`, `normalize_loss` and the weights of `composite`" + `. Under another
loss it is suspended, and samples end at their limits. It is in force again when that loss is selected again; a new
threshold belongs to the loss in use.
`)
	v := moonWith(t)
	group := ""
	for _, k := range Table.Keys() {
		if k.Group != group {
			group = k.Group
			fmt.Fprintf(&b, "\n## %s\n\n| Setting | Default | May be | Live | Meaning |\n|---|---|---|---|---|\n", group)
		}
		live := ""
		if k.Live {
			live = "live"
		}
		help := k.Help
		if k.Unit != "" {
			help += " (" + k.Unit + ")"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", k.Name, v.Quoted(k.Name), k.Wants(), live, help)
	}
	checkDocument(t, "settings.md", b.String())
}

func TestPresetsPageIsFresh(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Presets

A preset is a named set of settings that ships with the program. ` + "`prismtop presets list`" + ` lists them, ` + "`prismtop presets\nshow NAME`" + ` prints one as a TOML file that can be edited and passed with ` + "`--config`" + `. Settings are
described in [settings.md](settings.md). Paths in parentheses refer to PRISM's repository; the documents that
[standard](#standard), [profiling](#profiling), [phase5](#phase5), [ten-samples](#ten-samples) and [guide](#guide) name are in its docs/performance
([guide](#guide)'s in docs). [benchmarks.md](benchmarks.md) has what they claim and what was measured here.

| Preset | Description |
|---|---|
`)
	presets := map[string]preset.Preset{}
	for _, name := range shelves.Names() {
		p, err := shelves.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		presets[name] = p
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", name, name, p.Description)
	}
	b.WriteString(`
## PRISM's quality levels

| PRISM | Here |
|---|---|
| quick_test | [quick-test](#quick-test) |
| production, and europa with it | [production](#production) with ` + "`--image`" + ` |
| high_quality | [high-quality](#high-quality) |
| debug | [debug](#debug) |
| line_sampling | [line-sampling](#line-sampling) |

PRISM's spelling with underscores works too. The levels use PRISM's numbers with the field of 1024 pixels and the radius
of 8.5 of its command line, which a level does not specify. PRISM's YAML files of the same names use larger apertures: add
` + "`--set radius=50`" + ` for production, ` + "`--set radius=32`" + ` for quick_test. Its presets mopie_… belong to another algorithm.
The levels run up to millions of iterations; [moon](#moon) and [quick](#quick) are made for a processor without a GPU.

Levels with a signal-to-noise ratio measure amplitudes with noise. PRISM compares a noisy intensity with an amplitude
there; ` + "`--faithful`" + ` does too.

PRISM's pictures are not shipped, because their origin is unknown. A preset made for one draws the built-in moon and
says so, unless ` + "`--image`" + ` names a picture.
`)
	for _, name := range shelves.Names() {
		p := presets[name]
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", name, strings.ToUpper(p.Description[:1])+p.Description[1:])
		writeDifferences(&b, p, presets["prism"])
	}
	checkDocument(t, "presets.md", b.String())
}

// writeDifferences lists a preset's differences from PRISM's defaults.
func writeDifferences(b *strings.Builder, p, defaults preset.Preset) {
	var changed []string
	for _, k := range Table.Keys() {
		if value := p.Settings.Quoted(k.Name); p.Name == defaults.Name || value != defaults.Settings.Quoted(k.Name) {
			changed = append(changed, k.Name+" = "+value)
		}
	}
	if len(changed) == 0 {
		b.WriteString("The settings of [prism](#prism).\n")
		return
	}
	if p.Name != defaults.Name {
		b.WriteString("Beyond [prism](#prism):\n\n")
	}
	fmt.Fprintf(b, "```toml\n%s\n```\n", strings.Join(changed, "\n"))
}

package main

import (
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"prismtop/sim/cpu"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"prismtop": main}) }

// tiny makes a run that takes a second, in scripts.
const tiny = "--set size=64 --set object_size=32 --set radius=10 --set roi_diameter=40 --set samples=3 --set passes=1 --set iterations=4 " +
	"--set init_iterations=4 --set init_cycles=1 --set channels="

// script runs a test script; "TINY" stands for the flags above.
func script(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.txtar"), []byte(strings.ReplaceAll(text, "TINY", tiny)), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error { return pictures(e.WorkDir) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "oneline": oneLine, "jsonobject": jsonObject,
		},
	})
}

// pictures writes the files that scripts load.
func pictures(dir string) error {
	img := image.NewGray16(image.Rect(0, 0, 40, 40))
	for i := range img.Pix {
		img.Pix[i] = byte(i * i >> 3)
	}
	f, err := os.Create(filepath.Join(dir, "good.png"))
	if err != nil {
		return err
	}
	defer f.Close()
	return png.Encode(f, img)
}

// status runs the program and checks its exit status: status 2 prismtop run …
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %q, want status %s\n%s", strings.Join(args[1:], " "), got, args[0], ts.ReadFile("stderr"))
	}
}

// oneLine checks that standard error is one line without a stack trace.
func oneLine(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stderr")
	if strings.Count(text, "\n") != 1 || strings.Contains(text, "goroutine") || !strings.HasPrefix(text, "prismtop: ") {
		ts.Fatalf("not an error of one line: %q", text)
	}
}

// jsonObject checks that standard output is one JSON object and nothing else.
func jsonObject(ts *testscript.TestScript, _ bool, _ []string) {
	var v map[string]any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("standard output is not one JSON object: %v", err)
	}
}

func TestBadInputIsOneLineAndAStatus(t *testing.T) {
	script(t, `
status 2 prismtop run --headless --image text.png
oneline
stderr 'text.png: not a picture'
status 2 prismtop run --headless --image absent.png
oneline
stderr 'absent.png: no such file'
status 2 prismtop run --headless --image short.npy
oneline
stderr 'short.npy'
status 2 prismtop run --set size=500
oneline
stderr 'size = 500: must be a power of two'
status 2 prismtop run --set radius=0
oneline
stderr 'radius = 0'
status 2 prismtop run --set radios=3
oneline
stderr 'unknown setting "radios": did you mean radius'
status 2 prismtop run --set samples=1000000000
oneline
stderr 'samples = 1000000000'
status 2 prismtop run --config settings.toml
oneline
stderr 'settings.toml'
stderr 'radios'
status 2 prismtop run --preset moo
oneline
stderr 'preset "moo"'
status 2 prismtop run --device cuda
oneline
stderr 'device = cuda'
status 2 prismtop run --wrong
oneline
stderr 'wrong'
stderr 'unknown flag --wrong; see prismtop run --help'
status 2 prismtop run --presett quick
oneline
stderr '^prismtop: run: unknown flag --presett: did you mean --preset\?'
status 2 prismtop run -x
oneline
status 2 prismtop runn
oneline
stderr '^prismtop: unknown command "runn": did you mean run\?'
status 2 prismtop moon.png
oneline
stderr '^prismtop: unknown command "moon.png"; see prismtop --help'
status 2 prismtop help nope
oneline
stderr '^prismtop: unknown command "nope"; see prismtop --help'
status 2 prismtop help presets lst
oneline
stderr '^prismtop: presets: unknown command "lst": did you mean list\?'
status 2 prismtop presets lst
oneline
stderr '^prismtop: presets: unknown command "lst": did you mean list\?'
status 2 prismtop bench modle
oneline
stderr '^prismtop: bench: unknown command "modle": did you mean model\?'
status 2 prismtop completion nope
oneline
status 2 prismtop verify
oneline
status 1 prismtop verify nofile.npz
oneline
stderr '^prismtop: verify: nofile.npz: no such file or directory$'
stdout '^nofile.npz: not read$'
! stdout 'no such file'
stdout 'FAILED: 1 file could not be read$'
status 1 prismtop verify text.png
oneline
stderr '^prismtop: verify: text.png: not an NPZ file'
status 1 prismtop verify .
oneline
stderr '^prismtop: verify: .: is a folder'
status 1 prismtop verify empty.npz nofile.npz
oneline
stderr '^prismtop: verify: empty.npz: not an NPZ file.*; nofile.npz: no such file or directory$'
! stdout 'not an NPZ'
stdout 'FAILED: 2 files could not be read$'
status 2 prismtop presets shaw
oneline
status 2 prismtop run --headless TINY --save absent/moon
oneline
stderr 'absent'
status 2 prismtop run --headless TINY --save text.png/moon
oneline
stderr 'flag --save: "text.png/moon": the folder text.png cannot be written: not a directory'
[linux] status 2 prismtop run --headless TINY --save /proc/moon
[linux] oneline
[linux] stderr 'the folder /proc cannot be written'
mkdir taken.npy
status 2 prismtop run --headless TINY --save taken
oneline
stderr 'flag --save: taken.npy is a folder'
[symlink] symlink null.npy -> /dev/null
[symlink] status 2 prismtop run --headless TINY --save null
[symlink] oneline
[symlink] stderr 'flag --save: "null": null.npy: not a regular file'
[symlink] symlink away.png -> gone/away.png
[symlink] status 2 prismtop run --headless TINY --save away
[symlink] oneline
[symlink] stderr 'flag --save: away.png leads to the folder gone, which cannot be written: no such file'
status 2 prismtop run --headless TINY --save .
oneline
stderr 'flag --save: ".": wants a file name'
status 2 prismtop run --headless TINY --save ./
stderr 'wants a file name'
status 2 prismtop run --headless TINY --save .png
stderr 'wants a file name'
status 2 prismtop run --headless TINY --save ''
oneline
stderr 'flag --save: "": wants a file name'
status 2 prismtop run --headless --config ''
oneline
stderr 'flag --config: "": must be the path of a file'
status 2 prismtop run --headless --preset ''
oneline
stderr 'flag --preset: "": must be the name of a preset'
status 2 prismtop presets show ''
oneline
stderr 'must be the name of a preset'
status 2 prismtop presets show moon --preset quick
oneline
stderr 'given twice'
status 2 prismtop presets show moon quick
oneline
stderr '^prismtop: presets show: unexpected argument "quick"; see prismtop presets show --help'
status 2 prismtop run moon
oneline
stderr '^prismtop: run: unexpected argument "moon"; see prismtop run --help'
status 2 prismtop bench ablation --max-time 3s
oneline
stderr 'flag --max-time: an ablation ends with its last round'
status 2 prismtop bench peer text.png --set kernels=sse
oneline
stderr 'flag --set: kernels = "sse"'
status 2 prismtop run --max-time -3s
oneline
stderr 'flag --max-time: max_seconds = -3: must be a number from 0'
status 2 prismtop run --max-time 3
oneline
stderr 'flag --max-time: "3": must be a duration as 90s or 5m'
status 2 prismtop run --seed abc
oneline
stderr 'flag --seed: "abc": must be a whole number from 0'
status 2 prismtop run --headless=perhaps
oneline
stderr 'flag --headless: "perhaps": must be true or false'
status 2 prismtop run --headless --theme pink
oneline
stderr '^prismtop: flag --theme: "pink": must be one of auto, dark, light, mono$'
status 2 prismtop run --headless --bandwidth fast
oneline
stderr '^prismtop: flag --bandwidth: "fast": must be one of auto, low, full$'
status 2 prismtop run --config preset.toml --preset quick
oneline
stderr 'file preset.toml: preset "nope": unknown'
env PRISMTOP_RADIOS=3
status 2 prismtop run --headless
oneline
stderr 'PRISMTOP_RADIOS'
-- text.png --
This is a text.
-- empty.npz --
-- short.npy --
NUMPY
-- settings.toml --
radios = 3
-- preset.toml --
preset = "nope"
`)
}

func TestRunsWithoutAScreen(t *testing.T) {
	script(t, `
status 0 prismtop run --headless --json TINY --image good.png --save moon
jsonobject
stdout '"schema": 1'
! stdout 'ended_by'
stdout '"psnr_db": [0-9]'
stdout '"hit_rate_reason": "every sample asks once'
exists moon.png moon.npy
stderr 'saved moon.png and moon.npy'
status 0 prismtop run --headless TINY --set pattern=remeasure --max-iterations 9
stdout 'measurement .* hits'
stderr 'ended by max_iterations = 9'
status 0 prismtop run --json TINY --max-iterations 9
jsonobject
stdout '^  "ended_by": "max_iterations = 9",$'
# an extension is not doubled, and trying the folder leaves nothing behind
mkdir saved
status 0 prismtop run --headless TINY --max-iterations 3 --save saved/Mars.PNG
stderr 'saved saved/Mars.png and saved/Mars.npy'
exec ls -A saved
cmp stdout names
# a link is followed and stays
[symlink] mkdir far
[symlink] symlink near.png -> far/away.png
[symlink] status 0 prismtop run --headless TINY --max-iterations 3 --save near
[symlink] exists far/away.png near.npy
[symlink] stderr 'saved near.png and near.npy'
[symlink] exec readlink near.png
[symlink] stdout 'far/away.png'
# what diverged is kept as NPY
status 1 prismtop run --headless TINY --set learning_rate=10 --set amp=fp16 --set batch_norm=false --set iterations=2000 --set threshold=0 --save wrong
stderr '^saved wrong.npy$'
stderr '^prismtop: diverged: .*; saving wrong.png: the value at \[[0-9]+, [0-9]+\] is NaN: a PNG cannot hold it, NPY can$'
exists wrong.npy
! exists wrong.png
# without a terminal the screen is not opened
status 0 prismtop TINY
stdout 'PSNR'
-- names --
Mars.npy
Mars.png
`)
}

// Kernels that this machine lacks are found out where the run is prepared, after all that
// settings alone can tell.
func TestKernelsThatAreNotHereAreRefused(t *testing.T) {
	here := cpu.KernelNames()
	for _, name := range []string{"amx", "avx512", "avx2"} {
		if !slices.Contains(here, name) {
			script(t, `
status 1 prismtop run --headless TINY --kernels `+name+`
oneline
stderr 'kernels "`+name+`"'
! stdout .
status 1 prismtop run --lines TINY --kernels `+name+`
stderr 'kernels "`+name+`"'
! stdout 'iterations'
status 1 prismtop run --json TINY --kernels `+name+`
jsonobject
stdout '"state": "failed"'
stdout '"error": "cpu backend: kernels .*`+name+`'
stderr '^prismtop: cpu backend: kernels "`+name+`"'
status 1 prismtop bench model --kernels `+name+`
oneline
status 1 prismtop bench ablation --kernels `+name+`
stderr 'kernels "`+name+`"'
status 1 prismtop doctor --kernels `+name+`
oneline
`)
			return
		}
	}
	t.Skip("all kernels are here")
}

func TestHelpShowsNoMarkup(t *testing.T) {
	script(t, `
status 0 prismtop --help
stdout 'verify +Recompute'
! stdout '\x1b'
status 0 prismtop help presets
stdout 'prismtop presets \[command\] \[flags\]'
status 0 prismtop help bench peer
stdout 'prismtop bench peer SCRIPT \[flags\]'
status 0 prismtop --version
stdout '^prismtop version [0-9]'
status 0 prismtop run --help
! stdout '[\x60]'
stdout '--config FILE +file of settings over the preset.s, in TOML'
stdout '--save PATH +path to save'
status 0 prismtop presets show --help
! stdout '[\x60]'
stdout '--max-time'
`)
}

func TestPresetsAreShownWithOrigins(t *testing.T) {
	script(t, `
status 0 prismtop presets list
stdout '^moon '
stdout '^phase5 '
env PRISMTOP_RADIUS=21
status 0 prismtop presets show baseline --set samples=7
stdout 'radius = 21 .*environment PRISMTOP_RADIUS'
stdout 'samples = 7 .*--set'
stdout 'size = 512 .*preset baseline'
cp stdout shown.toml
status 0 prismtop presets show --config mine.toml --seed 5 --max-time 2m
stdout 'size = 512 .*preset baseline'
stdout 'snr = 33 .*file mine.toml'
stdout 'radius = 21 .*environment PRISMTOP_RADIUS'
stdout 'seed = 5 .*flag --seed'
stdout 'max_seconds = 120 .*flag --max-time'
status 0 prismtop doctor
stdout 'kernels'
status 0 prismtop doctor --json
jsonobject
-- mine.toml --
preset = "baseline"
snr = 33
radius = 20
`)
}

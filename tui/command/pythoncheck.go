package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/export"
	"prismtop/profiles/loop"
	"prismtop/profiles/visible"
	"prismtop/tui/command/cli"
)

// pythonFacts is what prismtop python could do with a Python: the document of doctor --python --json.
type pythonFacts struct {
	Python    string  `json:"python"` // its path
	Version   string  `json:"version"`
	System    string  `json:"implementation"`
	Supported bool    `json:"supported"`
	Hooked    bool    `json:"hooked"` // the module is loaded at its start
	Reason    string  `json:"reason,omitempty"`
	Torch     *string `json:"torch"` // null where it is not installed
	TorchWhy  string  `json:"torch_reason,omitempty"`
	CUDA      string  `json:"cuda,omitempty"` // the device, empty for none
	Threads   int     `json:"threads,omitempty"`
	Compiler  *string `json:"compiler"`    // of C++, without which compile cannot be switched on
	Keeps     bool    `json:"keep_memory"` // malloc can be told to keep what is freed
	KeepsWhy  string  `json:"keep_memory_reason,omitempty"`
	Rings     string  `json:"rings"` // folder
	RingsWhy  string  `json:"rings_reason,omitempty"`
}

// pythonQuestions is what the Python is asked to print.
const pythonQuestions = `
import json, os, platform, shutil, sys
f = {"version": platform.python_version(), "implementation": platform.python_implementation(), "torch": None, "compiler": shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++") or shutil.which("clang++")}
gil = getattr(sys, "_is_gil_enabled", None)
if gil is not None and not gil():
    f["implementation"] += " without a GIL"
f["hooked"] = "sitecustomize" in sys.modules and (getattr(sys.modules["sitecustomize"], "__file__", None) or "").startswith(os.environ["PRISMTOP_CHECKED"])
try:
    import torch
    f["torch"] = torch.__version__
    f["threads"] = torch.get_num_threads()
    f["cuda"] = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
except Exception as e:
    f["torch_reason"] = "%s: %s" % (type(e).__name__, e)
try:
    import prismtop_malloc
    f["keep_memory_reason"] = prismtop_malloc.why()
except Exception as e:
    f["keep_memory_reason"] = "%s: %s" % (type(e).__name__, e)
f["keep_memory"] = not f["keep_memory_reason"]
print("\n" + json.dumps(f))
`

// pythonWithin is how long a Python may take to import PyTorch.
const pythonWithin = 2 * time.Minute

// checkPython is doctor --python.
func checkPython(cmd *cobra.Command, python string, asJSON bool) error {
	path, err := exec.LookPath(python)
	if err != nil {
		return fmt.Errorf("doctor: flag --python: %w", err)
	}
	facts := pythonFacts{Python: path, Rings: loop.Folder()}
	if err := facts.ask(cmd.Context()); err != nil {
		return err
	}
	if asJSON {
		return export.WriteObject(cmd.OutOrStdout(), facts)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), facts.text())
	return err
}

// ask starts the Python once, as prismtop python would.
func (f *pythonFacts) ask(ctx context.Context) error {
	rings, err := loop.MakeFolder()
	if err != nil {
		f.RingsWhy = cli.ErrorLine(err)
		return nil
	}
	defer os.Remove(rings)
	module, err := loop.Install(filepath.Dir(rings))
	if err != nil {
		f.RingsWhy = cli.ErrorLine(err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pythonWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.Python, "-c", pythonQuestions)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+module+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"),
		loop.EnvFolder+"="+rings, "PRISMTOP_CHECKED="+module)
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || json.Unmarshal([]byte(lines[len(lines)-1]), f) != nil {
		return fmt.Errorf("doctor: %s cannot be asked: %w", f.Python,
			errors.Join(err, errors.New(visible.Text(lines[len(lines)-1]))))
	}
	var major, minor int
	_, _ = fmt.Sscanf(f.Version, "%d.%d", &major, &minor)
	f.Supported = major == 3 && minor >= 9 && f.System == "CPython"
	switch {
	case !f.Supported:
		f.Reason = f.System + " " + f.Version + ": must be CPython 3.9 or later with its GIL"
	case !f.Hooked:
		f.Reason = "it does not load sitecustomize from PYTHONPATH: import prismtop in the program instead"
	}
	return nil
}

// text is the answer for people.
func (f *pythonFacts) text() string {
	var b strings.Builder
	line := func(label, format string, of ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", label, visible.Text(fmt.Sprintf(format, of...)))
	}
	line("python", "%s · %s %s", f.Python, f.System, f.Version)
	switch {
	case f.RingsWhy != "":
		line("rings", "%s", f.RingsWhy)
	case f.Reason != "":
		line("hooks", "no: %s", f.Reason)
	default:
		line("hooks", "an unchanged program is watched: the module is loaded when this Python starts")
	}
	switch {
	case f.Torch == nil:
		line("torch", "no: %s", f.TorchWhy)
	case f.CUDA != "":
		line("torch", "%s on %s", *f.Torch, f.CUDA)
	default:
		line("torch", "%s on the CPU, %d threads", *f.Torch, f.Threads)
	}
	if f.Compiler == nil {
		line("compile", "no C++ compiler: the knob compile cannot be switched on for the CPU")
	} else {
		line("compile", "%s", *f.Compiler)
	}
	if f.Keeps {
		line("malloc", "glibc: the knob keep_memory and --keep-memory have it keep what is freed")
	} else {
		line("malloc", "memory is not kept: %s", f.KeepsWhy)
	}
	line("rings", "in %s", f.Rings)
	return b.String()
}

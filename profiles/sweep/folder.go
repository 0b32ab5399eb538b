package sweep

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
)

// The folder of a sweep: its frozen plan, and where each run leaves what.
//
//	plan.toml plan.json     the plan as given, and frozen
//	files/                  what commands read
//	programs/HASH/          the builds that run it
//	settings.json           all settings of each arm, as TOML
//	status/NAME.N.json      the state and the result of a run, replaced as it goes on
//	runs/NAME.N/            its summary, recordings, checkpoint and log
//	effects/N.json          what runs by turns say of one another
//	slurm/                  the job script, the jobs, and what they print

// Schema is the version of the files in the folder.
const Schema = 1

// Frozen is a plan with everything that it depends on.
type Frozen struct {
	Schema      int                   `json:"schema"`
	Version     string                `json:"version"` // of the program that froze it
	Began       time.Time             `json:"began"`
	Digest      string                `json:"digest"`    // of the plan, without its replicates
	Scratch     string                `json:"scratch"`   // its folder on a machine's own disk, "" if an earlier program froze it
	Directory   string                `json:"directory"` // in which runs start
	Replicates  int                   `json:"replicates"`
	Turn        time.Duration         `json:"turn_ns"`
	Checkpoint  time.Duration         `json:"checkpoint_every_ns"`
	Reference   string                `json:"reference"`
	Programs    []File                `json:"programs"` // the first is the program that froze it
	Inputs      []File                `json:"inputs"`
	Arms        []FrozenArm           `json:"arms"`
	Tasks       []Task                `json:"tasks"`
	Slurm       []settings.Assignment `json:"slurm"`
	MemoryLimit int64                 `json:"memory_limit,omitempty"` // bytes of a run; 0 for none
	Search      *Searched             `json:"search,omitempty"`
}

// File is a file that runs read, by its contents.
type File struct {
	Path   string `json:"path"`           // where it was when the plan was frozen
	Name   string `json:"name,omitempty"` // of its copy in the folder; empty for none
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// FrozenArm is an arm with its settings resolved.
type FrozenArm struct {
	Name       string                `json:"name"`
	Kind       string                `json:"kind"` // settings, program, python or command
	Workload   string                `json:"workload,omitempty"`
	Preset     string                `json:"preset,omitempty"`
	Program    string                `json:"program"`              // in the folder
	Args       []string              `json:"args,omitempty"`       // of python or of prismtop
	Set        []settings.Assignment `json:"set"`                  // that the plan gives
	Seed       *uint64               `json:"seed,omitempty"`       // of the first replicate; nil if replicates have none
	Stateless  bool                  `json:"stateless,omitempty"`  // it has no checkpoint
	Unrecorded bool                  `json:"unrecorded,omitempty"` // its iterations are not recorded
	Continues  bool                  `json:"continues,omitempty"`  // its program goes on from a checkpoint of its own
	Iterations int64                 `json:"max_iterations"`       // 0 for no limit
	Seconds    float64               `json:"max_seconds"`          // 0 for no limit
	Value      int                   `json:"value,omitempty"`      // of the search that added it; 0 for none
	Probe      bool                  `json:"probe,omitempty"`      // it tries the value only
	From       string                `json:"from,omitempty"`       // the arm whose settings it has with the value
}

// Cell is one run: a replicate of an arm.
type Cell struct {
	Arm       int `json:"arm"`
	Replicate int `json:"replicate"` // counted from 1
}

// Task is what one process works through: runs one after the other, or, with Turns, by turns.
type Task struct {
	Cells []Cell `json:"cells"`
	Turns bool   `json:"turns,omitempty"`
}

// mostTasks bounds the tasks of a sweep, as clusters bound the size of an array.
const mostTasks = 1000

// Folder is the folder of a sweep.
type Folder struct {
	Path string
	*Frozen
}

// Makes are what Freeze needs to know beside the plan.
type Makes struct {
	Version   string
	Program   string // path of this program; empty for that of the process
	Directory string // in which runs start; empty for the process's
	Presets   preset.Shelves
	Owner     string // of the lock
	Lent      bool   // the folder lives no longer than this process: its program is linked, not copied
	// Inputs returns the files that a run of the settings reads.
	Inputs func(v settings.Values) []string
	// Command returns an error for arguments that are no command of this program.
	Command func(args []string) error
	// Stateless reports whether a run of the settings has no checkpoint.
	Stateless func(v settings.Values) bool
}

// Freeze makes the folder of a checked plan, or returns that of the same plan, to which it
// adds replicates. begun reports whether there was one.
func Freeze(ctx context.Context, p *Plan, text []byte, m Makes) (f *Folder, begun bool, err error) {
	if m.Program == "" {
		if m.Program, err = os.Executable(); err != nil {
			return nil, false, err
		}
	}
	if m.Directory == "" {
		if m.Directory, err = os.Getwd(); err != nil {
			return nil, false, err
		}
	}
	path, err := filepath.Abs(p.Folder)
	if err != nil {
		return nil, false, p.wrong("folder", err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, false, p.wrong("folder", err)
	}
	lock, err := atomicfile.LockPath(filepath.Join(path, planFile), m.Owner)
	if err != nil {
		return nil, false, err
	}
	defer lock.Release()
	digest, err := p.digest()
	if err != nil {
		return nil, false, err
	}
	f, err = Open(ctx, path)
	switch {
	case errors.Is(err, ErrNone):
		same := func(at string) bool {
			there, err := os.ReadFile(at)
			return err == nil && bytes.Equal(there, text)
		}
		if err = atomicfile.Replaceable(same, filepath.Join(path, "plan.toml")); err != nil && text != nil {
			return nil, false, p.wrong("folder", err)
		}
		f, err = freeze(ctx, p, path, digest, m)
	case err != nil:
	case f.Digest != digest:
		err = p.wrong("folder", fmt.Errorf("%s has a sweep of another plan: must be another folder; prismtop sweep "+
			"%[1]s goes on with the plan there", p.Folder))
	default:
		begun = true
		f.extend(p.Replicates, p)
	}
	if err != nil {
		return nil, false, err
	}
	if text != nil {
		if err := atomicfile.Write(f.at("plan.toml"), text, 0o644); err != nil {
			return nil, begun, err
		}
	}
	return f, begun, f.Save()
}

// planFile is the file that makes a folder one of a sweep. It is written last.
const planFile = "plan.json"

// ErrNone reports a folder without a sweep.
var ErrNone = errors.New("has no sweep")

// largestFrozen bounds the frozen plan, in bytes.
const largestFrozen = 64 << 20

// Open opens the folder of a sweep.
func Open(ctx context.Context, path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	data, err := inputfile.Read(ctx, filepath.Join(path, planFile), largestFrozen)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s %w", path, ErrNone)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, planFile), err)
	}
	f := &Folder{Path: path, Frozen: &Frozen{}}
	if err := json.Unmarshal(data, f.Frozen); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, planFile), err)
	}
	if f.Schema != Schema {
		return nil, fmt.Errorf("%s: is of format %d: this prismtop reads format %d", filepath.Join(path, planFile),
			f.Schema, Schema)
	}
	for i := range f.Tasks {
		for _, c := range f.Tasks[i].Cells {
			if c.Arm < 0 || c.Arm >= len(f.Arms) || c.Replicate < 1 {
				return nil, fmt.Errorf("%s: task %d names an arm that is missing", filepath.Join(path, planFile), i)
			}
		}
	}
	return f, nil
}

// digest identifies a plan, whatever its replicates.
func (p *Plan) digest() (string, error) {
	d := *p
	d.Replicates, d.Folder, d.Name, d.lines, d.Slurm = 0, "", "", nil, nil
	text, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// freeze makes a folder.
func freeze(ctx context.Context, p *Plan, path, digest string, m Makes) (*Folder, error) {
	f := &Folder{Path: path, Frozen: &Frozen{
		Schema: Schema, Version: m.Version, Began: time.Now().Round(time.Second), Digest: digest,
		Scratch:   digest[:8] + "-" + strings.ToLower(rand.Text()[:10]),
		Directory: m.Directory, Turn: p.Turn, Checkpoint: p.Checkpoint,
		Reference: p.Reference, Inputs: []File{}, Slurm: p.Slurm, MemoryLimit: p.MemoryLimit,
	}}
	for _, name := range []string{"programs", "status", "runs", "effects", "slurm"} {
		if err := os.MkdirAll(f.at(name), 0o755); err != nil {
			return nil, err
		}
	}
	if _, err := f.keep(ctx, m.Program, m.Lent); err != nil {
		return nil, err
	}
	for name, text := range p.Files {
		if err := os.MkdirAll(f.at("files"), 0o755); err != nil {
			return nil, err
		}
		if err := atomicfile.Write(f.at("files", name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	all := map[string]string{}
	for i := range p.Arms {
		a, err := f.arm(ctx, p, &p.Arms[i], m, all)
		if err != nil {
			return nil, err
		}
		f.Arms = append(f.Arms, a)
	}
	if p.Search != nil {
		f.Search, f.Arms, f.Tasks = &Searched{Search: *p.Search, Of: f.Arms[0]}, []FrozenArm{}, []Task{}
	}
	f.extend(p.Replicates, p)
	return f, writeJSON(f.at(settingsFile), all)
}

// settingsFile has the settings of each arm that has any, as TOML.
const settingsFile = "settings.json"

// Settings returns all settings of an arm as TOML, empty for one that has none.
func (f *Folder) Settings(ctx context.Context, arm int) (string, error) {
	var all map[string]string
	data, err := inputfile.Read(ctx, f.at(settingsFile), largestFrozen)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.at(settingsFile), err)
	}
	return all[cmp.Or(f.Arms[arm].From, f.Arms[arm].Name)], nil
}

// arm freezes an arm; all takes its settings.
func (f *Folder) arm(ctx context.Context, p *Plan, a *Arm, m Makes, all map[string]string) (frozen FrozenArm,
	err error) {
	frozen = FrozenArm{Name: a.Name, Kind: a.Kind(), Program: f.Programs[0].Name, Set: p.All(a),
		Unrecorded: !a.Recorded(), Continues: a.Continues}
	for _, s := range frozen.Set {
		switch n, err := strconv.ParseInt(s.Value, 10, 64); {
		case err != nil:
		case s.Key == settings.MaxIterations:
			frozen.Iterations = n
		case s.Key == settings.MaxSeconds:
			frozen.Seconds = float64(n)
		case s.Key == settings.Seed:
			seed := uint64(n)
			frozen.Seed = &seed
		}
	}
	switch frozen.Kind {
	case "python":
		if script := a.Python[0]; !strings.ContainsAny(script[:1], "-{") {
			if !filepath.IsAbs(script) {
				script = filepath.Join(m.Directory, script)
			}
			if _, err := os.Stat(script); err != nil {
				return frozen, p.wrong(a.path+".python", err)
			}
		}
		frozen.Args = a.Python
		err = f.read(ctx, m.Directory, a.Python)
	case "command":
		if err := m.Command(a.Command); err != nil {
			return frozen, p.wrong(a.path+".command", err)
		}
		frozen.Args = a.Command
		err = f.read(ctx, m.Directory, a.Command)
	case "program":
		frozen.Preset = cmp.Or(a.Preset, p.Base.Preset)
		if frozen.Program, err = f.keep(ctx, a.Program, false); err != nil {
			return frozen, p.wrong(a.path+".program", err)
		}
	default:
		v, err := p.Settings(a, m.Presets)
		if err != nil {
			return frozen, err
		}
		frozen.Preset, frozen.Workload = cmp.Or(a.Preset, p.Base.Preset, m.Presets.Default()), v.Table().Workload
		frozen.Iterations = int64(v.Int(settings.MaxIterations))
		if v.Has(settings.Seed) {
			seed := uint64(v.Int(settings.Seed))
			frozen.Seed = &seed
		}
		var text strings.Builder
		fmt.Fprintf(&text, "preset = %q\n\n", frozen.Preset)
		if err := v.Write(&text, nil); err != nil {
			return frozen, err
		}
		all[a.Name] = text.String()
		if err := f.read(ctx, m.Directory, m.Inputs(v)); err != nil {
			return frozen, p.wrong(a.path, err)
		}
		frozen.Seconds, frozen.Stateless = v.Number(settings.MaxSeconds), m.Stateless(v)
	}
	if p.SameSeed {
		frozen.Seed = nil
	}
	if p.Budget > 0 {
		share := p.Budget.Seconds() / float64(len(p.Arms)*p.Replicates)
		if frozen.Seconds == 0 || share < frozen.Seconds {
			frozen.Seconds = share
		}
	}
	return frozen, err
}

// extend adds tasks up to a number of replicates. Their order is by replicate, and by chance within it, so that a drift
// of the machine touches all arms alike.
func (f *Folder) extend(replicates int, p *Plan) {
	if s := f.Search; s != nil { // which adds them as it goes on
		s.Over = s.Over && replicates <= f.Replicates
		f.Replicates = max(f.Replicates, replicates)
		return
	}
	order := mathrand.New(mathrand.NewPCG(seedOf(f.Digest), uint64(f.Replicates)))
	pairs := p.pairs()
	for r := f.Replicates + 1; r <= replicates; r++ {
		var tasks []Task
		for _, name := range sortedKeys(pairs) {
			arms := pairs[name]
			if len(arms) == 1 || !p.whole(arms) {
				t := Task{Turns: len(arms) > 1}
				for _, arm := range arms {
					t.Cells = append(t.Cells, Cell{arm, r})
				}
				tasks = append(tasks, t)
				continue
			}
			if (r-f.Replicates)%2 == 1 { // whole runs by turns, A B and B A of two replicates
				arms = slices.Clone(arms)
				order.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
				t := Task{}
				for back := r; back <= min(r+1, replicates); back++ {
					for _, arm := range arms {
						t.Cells = append(t.Cells, Cell{arm, back})
					}
					slices.Reverse(arms)
				}
				tasks = append(tasks, t)
			}
		}
		for i := range p.Arms {
			if a := &p.Arms[i]; a.Pair == "" && p.Pairing != Turns {
				tasks = append(tasks, Task{Cells: []Cell{{i, r}}})
			}
		}
		order.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		f.Tasks = append(f.Tasks, tasks...)
	}
	f.Replicates = max(f.Replicates, replicates)
}

func sortedKeys(of map[string][]int) (keys []string) {
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// seedOf makes a number of the beginning of a digest.
func seedOf(digest string) uint64 {
	n, _ := strconv.ParseUint(digest[:min(16, len(digest))], 16, 64)
	return n
}

// Bundles divides the tasks among at most mostTasks elements of an array: the tasks of one run one after the other.
func (f *Folder) Bundles() (all [][]int) {
	n := min(len(f.Tasks), mostTasks)
	for i := range n {
		var tasks []int
		for t := i * len(f.Tasks) / n; t < (i+1)*len(f.Tasks)/n; t++ {
			tasks = append(tasks, t)
		}
		all = append(all, tasks)
	}
	return all
}

// keep copies a program into the folder, under a name with its hash, and returns that. One that is lent is linked.
func (f *Folder) keep(ctx context.Context, path string, lent bool) (string, error) {
	if lent {
		link := File{Path: path, Name: filepath.Join("programs", "prismtop")}
		if err := os.Symlink(path, f.at(link.Name)); err == nil { // not every system has links
			f.Programs = append(f.Programs, link)
			return link.Name, nil
		}
	}
	file, err := hashed(ctx, path)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(f.Programs, func(p File) bool { return p.SHA256 == file.SHA256 }); i >= 0 {
		return f.Programs[i].Name, nil
	}
	file.Name = filepath.Join("programs", file.SHA256[:12], "prismtop")
	if err := os.MkdirAll(filepath.Dir(f.at(file.Name)), 0o755); err != nil {
		return "", err
	}
	if there, err := hashed(ctx, f.at(file.Name)); err != nil || there.SHA256 != file.SHA256 {
		from, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer from.Close()
		if err := atomicfile.WriteFrom(f.at(file.Name), 0o755, func(w io.Writer) error {
			_, err := io.Copy(w, inputfile.Reader{Context: ctx, Source: from})
			return err
		}); err != nil {
			return "", err
		}
	}
	f.Programs = append(f.Programs, file)
	return file.Name, nil
}

// read notes the files among paths, by their hashes; what is no file is left out.
func (f *Folder) read(ctx context.Context, directory string, paths []string) error {
	for _, path := range paths {
		if path == "" || strings.HasPrefix(path, "-") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(directory, path)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(f.Inputs,
			func(i File) bool { return i.Path == path }) {
			continue
		}
		file, err := hashed(ctx, path)
		if err != nil {
			return err
		}
		f.Inputs = append(f.Inputs, file)
	}
	return nil
}

// hashed returns the hash of a file.
func hashed(ctx context.Context, path string) (file File, err error) {
	from, info, err := inputfile.Open(path)
	if err != nil {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	defer from.Close()
	h := sha256.New()
	if _, err := io.Copy(h, inputfile.Reader{Context: ctx, Source: from}); err != nil {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	return File{Path: path, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: info.Size()}, nil
}

// Unchanged returns an error if an input is not what it was when the plan was frozen.
func (f *Folder) Unchanged(ctx context.Context) error {
	for _, was := range f.Inputs {
		is, err := hashed(ctx, was.Path)
		if err != nil {
			return fmt.Errorf("input %w", err)
		}
		if is.SHA256 != was.SHA256 {
			return fmt.Errorf("input %s has changed since the plan was frozen: must have the SHA-256 %s",
				was.Path, was.SHA256)
		}
	}
	return nil
}

// at returns a path in the folder.
func (f *Folder) at(parts ...string) string {
	return filepath.Join(append([]string{f.Path}, parts...)...)
}

// At returns the path of something in the folder.
func (f *Folder) At(parts ...string) string { return f.at(parts...) }

// Name names a run: "fused.2".
func (f *Folder) Name(c Cell) string { return fmt.Sprintf("%s.%d", f.Arms[c.Arm].Name, c.Replicate) }

// RunFolder returns the folder of what a run leaves.
func (f *Folder) RunFolder(c Cell) string { return f.at("runs", f.Name(c)) }

// statusPath returns the file of a run's state.
func (f *Folder) statusPath(c Cell) string { return f.at("status", f.Name(c)+".json") }

// Lock makes this process the only one that works on a run.
func (f *Folder) Lock(c Cell, owner string) (*atomicfile.Lock, error) {
	return atomicfile.LockPath(f.statusPath(c), owner)
}

// Cells returns every run, by replicate and arm.
func (f *Folder) Cells() (all []Cell) {
	if f.Search != nil { // which has no run of some arms
		for i := range f.Tasks {
			all = append(all, f.Tasks[i].Cells...)
		}
		slices.SortFunc(all, func(a, b Cell) int { return cmp.Or(a.Replicate-b.Replicate, a.Arm-b.Arm) })
		return all
	}
	for r := 1; r <= f.Replicates; r++ {
		for a := range f.Arms {
			all = append(all, Cell{a, r})
		}
	}
	return all
}

// writeJSON writes a file as JSON, whole.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(text, '\n'), 0o644)
}

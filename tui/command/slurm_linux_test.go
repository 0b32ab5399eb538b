package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/recording"
	"prismtop/profiles/sweep"
	"prismtop/tui/command/cli"
	"prismtop/tui/ptytest"
)

// Sweeps on a Slurm of two nodes on this machine, which testdata/slurm/cluster.sh starts in a folder of its own.

// slurm is the cluster of a test.
type slurm struct {
	*testing.T
	folder, program string
}

// newSlurm starts a cluster if SLURM_TESTS asks for one, or skips the test where Slurm is not installed. With
// SLURM_TESTS=auto it skips, too, where the cluster does not start.
func newSlurm(t *testing.T) *slurm {
	t.Helper()
	if os.Getenv("SLURM_TESTS") == "" {
		t.Skip("skipped: the tests on a cluster take minutes; SLURM_TESTS=1 starts one")
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: Slurm's daemons need root")
	}
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "srun", "scontrol", "sinfo"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("skipped: %s is not installed (slurm-wlm, munge)", name)
		}
	}
	folder, err := os.MkdirTemp("", "slurm") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &slurm{t, folder, filepath.Join(folder, "prismtop")}
	if err := os.Link(self, s.program); err != nil { // by this name the test is the program, also where that starts itself
		t.Fatal(err)
	}
	t.Setenv("SLURM_CONF", filepath.Join(folder, "slurm.conf"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(folder, "user"))
	t.Cleanup(s.end)
	if out, err := exec.Command("testdata/slurm/cluster.sh", folder, strconv.Itoa(freePort(t))).CombinedOutput(); err != nil {
		if os.Getenv("SLURM_TESTS") == "auto" {
			t.Skipf("skipped: the cluster does not start here: %v\n%s", err, out)
		}
		t.Fatalf("cluster.sh: %v\n%s", err, out)
	}
	return s
}

// freePort returns the first of three ports of which the first is free.
func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port%20000 + 20000
}

// end ends the cluster's jobs and daemons.
func (s *slurm) end() {
	_ = exec.Command("scancel", "--full", "--state=RUNNING").Run()
	_ = exec.Command("scancel", "--state=PENDING").Run()
	for range 20 {
		if out, _ := exec.Command("squeue", "--noheader").Output(); len(bytes.TrimSpace(out)) == 0 {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	if s.Failed() {
		for _, name := range []string{"slurmctld.log", "n1.log", "n2.log"} {
			log, _ := os.ReadFile(filepath.Join(s.folder, name))
			s.Logf("%s:\n%s", name, log[max(0, len(log)-2000):])
		}
	}
	pids, _ := filepath.Glob(filepath.Join(s.folder, "*.pid"))
	for _, path := range pids {
		if pid := s.pid(path); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = os.RemoveAll(s.folder)
}

// pid reads the ID of a daemon; 0 for none.
func (s *slurm) pid(path string) int {
	text, _ := os.ReadFile(path)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// run runs a command and returns what it prints.
func (s *slurm) run(status int, name string, args ...string) string {
	s.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.folder
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	_ = cmd.Run() // its status says it
	if got := cmd.ProcessState.ExitCode(); got != status {
		s.Fatalf("%s %s ended with %d, want %d\n%s%s", name, strings.Join(args, " "), got, status, out.String(), complaint.String())
	}
	return out.String()
}

// await waits until all runs fulfil a condition, and returns their states by name. It is patient for as long as any run goes on.
func (s *slurm) await(f *sweep.Folder, what string, done func(all map[string]*sweep.Status) bool) map[string]*sweep.Status {
	s.Helper()
	w := sweep.NewWatch(f)
	const patience = 4 * time.Minute
	began := time.Now()
	for deadline := began.Add(patience); ; {
		changed, err := w.Look(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		if changed {
			deadline = time.Now().Add(patience)
		}
		all := map[string]*sweep.Status{}
		for i, c := range f.Cells() {
			all[f.Name(c)] = &w.Statuses()[i]
		}
		if done(all) {
			s.Logf("%s after %.1f s", what, time.Since(began).Seconds())
			return all
		}
		if time.Now().After(deadline) {
			text, _ := json.MarshalIndent(all, "", " ")
			s.Fatalf("waiting for %s:\n%s\n%s", what, text, s.run(0, "squeue"))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// count counts the runs in a state.
func count(all map[string]*sweep.Status, state sweep.State) (n int) {
	for _, s := range all {
		if s.State == state {
			n++
		}
	}
	return n
}

// parent returns the parent of a process.
func parent(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	up, _ := strconv.Atoi(fields[1])
	return up
}

// work is the processor time that a process has had until a moment.
type work struct {
	at    time.Time
	spent time.Duration
}

// workOf reads the work of a process.
func workOf(pid int) work {
	w := work{at: time.Now()}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return w
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	for _, of := range fields[11:13] { // by the user and the system, in steps of 10 ms
		n, _ := strconv.Atoi(of)
		w.spent += time.Duration(n) * 10 * time.Millisecond
	}
	return w
}

// longRun is the iterations of the arms that something happens to, and shortRun of the others.
const longRun, shortRun = 50000, 5000

// twelve is a plan of twelve arms, of which five are long.
func twelve() string {
	text := "folder = \"sw\"\ncheckpoint_every = \"1s\"\n[base]\npreset = \"curve\"\n"
	for i := range 12 {
		text += fmt.Sprintf("[[arm]]\nname = \"arm%d\"\nset = { degree = %d, max_iterations = %d }\n", i, 10+i, twelfth(i))
	}
	return text
}

// twelfth returns the iterations of an arm of twelve.
func twelfth(arm int) int64 {
	if arm < 5 {
		return longRun
	}
	return shortRun
}

// An array of twelve arms, of which one loses its node, one is cancelled and one runs out of time, has the table of a sweep that
// nothing happened to: nothing runs twice, and nothing is lost that was recorded half a second before.
func TestASweepOnSlurmSurvivesItsNodes(t *testing.T) {
	s := newSlurm(t)
	plan := filepath.Join(s.folder, "plan.toml")
	if err := os.WriteFile(plan, []byte(twelve()), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(0, s.program, "sweep", plan, "--executor", "slurm")
	f, err := sweep.Open(t.Context(), filepath.Join(s.folder, "sw"))
	if err != nil {
		t.Fatal(err)
	}
	on := func(node string, all map[string]*sweep.Status, but ...string) string { // a long run that is under way
		for i := 0; twelfth(i) == longRun; i++ {
			name := fmt.Sprintf("arm%d.1", i)
			r := all[name]
			if !slices.Contains(but, name) && r.State == sweep.Running && r.Node == node && r.Checkpoint != nil && r.Iterations > 2000 {
				return name
			}
		}
		return ""
	}

	// The node n2 is killed: its daemon, the step's and the task's processes.
	killed := ""
	all := s.await(f, "a run on n2", func(all map[string]*sweep.Status) bool { killed = on("n2", all); return killed != "" })
	run := all[killed].Process
	task := parent(run)
	step := parent(task)
	worked := []work{workOf(run)} // by time, until it is killed
	for range 35 {
		time.Sleep(20 * time.Millisecond)
		worked = append(worked, workOf(run))
	}
	for _, pid := range []int{s.pid(filepath.Join(s.folder, "n2.pid")), step, task, run} {
		if pid <= 1 || syscall.Kill(pid, syscall.SIGKILL) != nil && pid != run { // which the system kills with its task
			t.Fatalf("process %d of %s cannot be killed", pid, killed)
		}
	}
	local := filepath.Join(all[killed].Local, "recording.sqlite")
	r, err := recording.Open(t.Context(), local, cli.TableOf)
	if err != nil {
		t.Fatal(err)
	}
	stretches, err := r.Stretches(t.Context(), 0)
	if err != nil || len(stretches) == 0 {
		t.Fatal(stretches, err)
	}
	status, err := r.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Half a second of the run's own work: a busy machine lets it work for less of the time.
	end, at := status.Began.Add(stretches[len(stretches)-1].To), 0
	for at+1 < len(worked) && !worked[at+1].at.After(end) {
		at++
	}
	lost := worked[len(worked)-1].spent - worked[at].spent
	t.Logf("the recording of %s ends %s before its node, %s of work", killed, worked[len(worked)-1].at.Sub(end), lost)
	if lost > 500*time.Millisecond {
		t.Errorf("%s lost %s of work with its node, want at most half a second", killed, lost)
	}
	kept := status.Iterations
	_ = r.Close()

	// On the other node, one runs out of time and one is cancelled.
	late := ""
	all = s.await(f, "a run on n1", func(all map[string]*sweep.Status) bool { late = on("n1", all, killed); return late != "" })
	signal := exec.Command("scancel", "--signal=USR1", "--batch", all[late].Job)
	if err := signal.Start(); err != nil {
		t.Fatal(err)
	}
	s.await(f, "the run that is out of time", func(all map[string]*sweep.Status) bool {
		return all[late].State != sweep.Running || all[late].Attempt > 1
	})
	_ = signal.Process.Kill() // it goes on for a minute and a half if the job is back in the queue by then
	_ = signal.Wait()
	cancelled := ""
	all = s.await(f, "another run on n1", func(all map[string]*sweep.Status) bool {
		cancelled = on("n1", all, killed, late)
		return cancelled != ""
	})
	s.run(0, "scancel", all[cancelled].Job)
	s.await(f, "the run that is cancelled", func(all map[string]*sweep.Status) bool { return all[cancelled].State == sweep.Interrupted })

	// The same command submits that one again, and no other.
	s.run(0, s.program, "sweep", plan, "--executor", "slurm")
	node := exec.Command("slurmd", "-f", os.Getenv("SLURM_CONF"), "-N", "n2")
	if out, err := node.CombinedOutput(); err != nil {
		t.Fatalf("slurmd: %v\n%s", err, out)
	}
	all = s.await(f, "all runs", func(all map[string]*sweep.Status) bool { return count(all, sweep.Done) == 12 })
	for i := range 12 {
		name, want := fmt.Sprintf("arm%d.1", i), 1
		if slices.Contains([]string{killed, late, cancelled}, name) {
			want = 2
		}
		if run := all[name]; run.Attempt != want || int64(run.Iterations) != twelfth(i) {
			t.Errorf("%s had %d starts and %d iterations, want %d and %d", name, run.Attempt, run.Iterations, want, twelfth(i))
		}
	}
	checkWhole(t, f, killed, kept)
	checkWhole(t, f, cancelled, 0)
	if out := s.run(0, s.program, "sweep", plan, "--executor", "slurm", "--quiet"); !strings.Contains(out, "12 of 12 runs done") {
		t.Errorf("the table is\n%s", out)
	}
	text, err := os.ReadFile(f.At("slurm", "jobs.json"))
	if err != nil || strings.Count(string(text), `"id"`) != 2 {
		t.Errorf("the jobs are %s, %v", text, err)
	}
}

// halfASecond is the most iterations of the plan's runs in half a second, the time that a killed process has not recorded.
const halfASecond = 8000

// checkWhole checks that the recordings of a run that was interrupted once have all of its iterations but those of half a
// second, and of its first part as many as were recorded then. A recording that ends before the checkpoint goes on in a second file.
func checkWhole(t *testing.T, f *sweep.Folder, name string, kept int64) {
	t.Helper()
	paths, _ := filepath.Glob(f.At("runs", name, "recording*.sqlite")) // the pattern is valid
	slices.SortFunc(paths, func(a, b string) int { return len(a) - len(b) })
	var of []int64 // iterations of each start
	for i, path := range paths {
		r, err := recording.Open(t.Context(), path, cli.TableOf)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s, err := r.Status(t.Context())
		if err != nil || s.Dropped != 0 || i == len(paths)-1 && s.Iterations != longRun {
			t.Errorf("%s has %d iterations and lacks %d, %v", path, s.Iterations, s.Dropped, err)
		}
		stretches, err := r.Stretches(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		cursor := r.Cursor()
		for _, part := range stretches {
			moments, err := cursor.Read(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			for i := range moments {
				if moments[i].Begins() {
					of = append(of, 0)
				}
				of[len(of)-1] += int64(moments[i].Iterations())
			}
		}
	}
	if len(of) != 2 || of[0] < kept || of[0]+of[1] < longRun-halfASecond {
		t.Errorf("%s has starts with %v iterations, want two; when it was killed, %d were recorded", name, of, kept)
	}
}

// From the login node a screen operates a run in a job, and the change is in the table.
func TestAJobOnSlurmIsAttachedTo(t *testing.T) {
	s := newSlurm(t)
	s.run(0, s.program, "sweep", "--folder", "sw", "--preset", "curve", "--set", "max_iterations=0", "--set", "max_seconds=40", "--grid", "degree=10", "--executor", "slurm")
	f, err := sweep.Open(t.Context(), filepath.Join(s.folder, "sw"))
	if err != nil {
		t.Fatal(err)
	}
	all := s.await(f, "a session", func(all map[string]*sweep.Status) bool { return all["degree=10.1"].Session != "" })
	term := ptytest.Open(t, 120, 40)
	defer term.Close()
	cmd := exec.Command(s.program, "attach", strings.Replace(all["degree=10.1"].Job, "_", ".", 1))
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	term.Start(cmd)
	term.See("basis cache ●")
	term.Press("m")
	term.See("basis cache on→off: costs") // the press has decided
	term.Press("q", "D")
	if err := cmd.Wait(); err != nil {
		t.Errorf("attach ended with %v", err)
	}
	s.await(f, "the run", func(all map[string]*sweep.Status) bool { return count(all, sweep.Done) == 1 })
	if got := s.run(0, s.program, "sweep", "show", f.Path); !strings.Contains(got, "degree=10 was changed during run 1: basis_cache true → false at iteration") || !strings.Contains(got, ", time of an iteration ") {
		t.Errorf("the table has not what the key did:\n%s", got)
	}
}

// The same plan on Slurm and here has the same table: the same arms, runs and qualities, digit for digit, and no arm that is faster in one and slower in the other. A plan with an error
// is refused before anything is submitted.
func TestTheSamePlanHasTheSameTableOnSlurm(t *testing.T) {
	s := newSlurm(t)
	plan := filepath.Join(s.folder, "plan.toml")
	text := "folder = \"sw\"\nreplicates = 2\n[base]\npreset = \"curve\"\nmax_iterations = 2000\n[grid]\ndegree = [10, 14]\nbasis_cache = [true, false]\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(text, "degree = [10, 14]", "degree = [10, -14]", 1))
	wrong := exec.Command(s.program, "sweep", plan, "--executor", "slurm")
	wrong.Dir = s.folder
	if out, err := wrong.CombinedOutput(); err == nil || wrong.ProcessState.ExitCode() != cli.StatusUsage || !strings.Contains(string(out), "line 7: grid.degree") {
		t.Errorf("a wrong plan ended with %v:\n%s", err, out)
	}
	if queued := s.run(0, "squeue", "--noheader"); queued != "" {
		t.Errorf("it was submitted:\n%s", queued)
	}
	write(text)
	tables := map[string]*sweep.Table{}
	for name, more := range map[string][]string{"slurm": {"--executor", "slurm", "--wait", "--quiet"}, "here": {"--folder", "here", "--quiet"}} {
		t.Log(s.run(0, s.program, append([]string{"sweep", plan}, more...)...))
		folder := map[string]string{"slurm": "sw", "here": "here"}[name]
		f, err := sweep.Open(t.Context(), filepath.Join(s.folder, folder))
		if err != nil {
			t.Fatal(err)
		}
		if tables[name], err = f.Table(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a, b := tables["slurm"], tables["here"]
	if a.Title() != b.Title() || a.Counts[sweep.Done] != 8 {
		t.Fatalf("%s, and here %s", a.Title(), b.Title())
	}
	for i := range a.Arms {
		x, y := &a.Arms[i], &b.Arms[i]
		contradict := x.Faster.Sure() && y.Faster.Sure() && x.Faster.Finding.Excluded() && y.Faster.Finding.Excluded() && x.Faster.Finding != y.Faster.Finding
		if x.Name != y.Name || x.Iterations != y.Iterations || x.Quality != y.Quality || a.Better(x) != b.Better(y) || contradict {
			t.Errorf("%+v, and here %+v", x, y)
		}
	}
}

// Two ranks that one srun starts on two nodes are one training: the prismtop of the first reads what the other's records through srun.
func TestRanksOfTwoNodesOnSlurm(t *testing.T) {
	python := os.Getenv("TORCH_PYTHON")
	if python == "" {
		t.Skip("skipped: TORCH_PYTHON names no Python with PyTorch")
	}
	script := inRepository(t, "profiles/loop/python/testdata/ddp.py")
	s := newSlurm(t)
	// A rank is ended at its limit, and the other then fails: the status of srun says nothing.
	ranks := exec.Command("srun", "--nodes=2", "--ntasks=2", "--kill-on-bad-exit=0", "--output="+filepath.Join(s.folder, "rank%t"), "--error="+filepath.Join(s.folder, "rank%t.log"),
		"sh", "-c", `RANK=$SLURM_PROCID exec "$0" "$@"`, s.program, "python", "--headless", "--json", "--no-record", "--max-iterations", "60", "--", python, script, "1000000", "1", "0", "20")
	ranks.Dir = s.folder
	ranks.Env = append(os.Environ(), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", fmt.Sprint("MASTER_PORT=", freePort(t)), "GLOO_SOCKET_IFNAME=lo", "USE_LIBUV=0", "OMP_NUM_THREADS=1")
	said, err := ranks.CombinedOutput()
	first := filepath.Join(s.folder, "rank0")
	text, _ := os.ReadFile(first)
	log, _ := os.ReadFile(first + ".log")
	var run struct {
		Iterations int
		Notes      []string
	}
	if wrong := json.Unmarshal(text, &run); wrong != nil || run.Iterations < 60 ||
		!slices.Contains(run.Notes, "of 2 ranks, another machine has 1: they are only watched") {
		t.Errorf("%v, %+v\n%s\nsrun: %v\n%s", wrong, run, log, err, said)
	}
}

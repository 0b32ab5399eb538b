package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/loop"
	"prismtop/profiles/visible"
	"prismtop/tui/command/cli"
	"prismtop/tui/terminal"
)

// Ranks on other machines: prismtop runs there by ssh or srun and writes what their rings
// record to its standard output.

const (
	nodesAfter  = time.Second      // without some ranks, after which other machines are asked
	nodesWithin = 40 * time.Second // for ssh or srun to start there
	forwardIn   = 30 * time.Second // for a rank to take its second step there
)

// nodes are the other machines of a training.
type nodes struct {
	commands []string // that run a command there
	reached  bool     // they were asked
	running  []*node
}

// node is a command that forwards the ranks of another machine.
type node struct {
	command string
	cmd     *exec.Cmd
	stdin   io.Closer
	over    chan struct{}

	mu   sync.Mutex
	said bytes.Buffer
}

// Write keeps the beginning of what the command complains of.
func (n *node) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said.Write(b[:min(len(b), max(0, 4096-n.said.Len()))])
	return len(b), nil
}

// reach has other machines forward the ranks that are missing into a folder of rings.
func (n *nodes) reach(ctx context.Context, rings string, world int, missing func(rank int) bool) {
	n.reached = true
	commands := n.commands
	if len(commands) == 0 {
		commands = slurmNodes(ctx)
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	var ranks []int
	var names []string
	for rank := range world {
		if missing(rank) {
			ranks, names = append(ranks, rank), append(names, strconv.Itoa(rank))
		}
	}
	for _, command := range commands {
		one := &node{command: command, over: make(chan struct{})}
		one.cmd = exec.Command("sh", "-c", fmt.Sprintf("exec %s '%s' python --forward %d:%s", command, strings.ReplaceAll(program, "'", `'\''`), world, strings.Join(names, ",")))
		one.cmd.Stderr = one
		terminal.NewSession(one.cmd) // ctrl+c is not for it
		stdin, err := one.cmd.StdinPipe()
		if err != nil {
			continue
		}
		out, err := one.cmd.StdoutPipe()
		if err == nil {
			err = one.cmd.Start()
		}
		if err != nil {
			fmt.Fprintln(one, err)
			close(one.over)
			n.running = append(n.running, one)
			continue
		}
		one.stdin = stdin
		n.running = append(n.running, one)
		go func() {
			defer close(one.over)
			if err := loop.Mirror(out, rings, ranks, one.cmd.Process.Pid); err != nil {
				fmt.Fprintln(one, err)
				_ = one.cmd.Process.Kill()
			}
			_ = one.cmd.Wait()
		}()
	}
}

// awaited reports whether ranks of other machines may still come.
func (n *nodes) awaited(took time.Duration) bool {
	for _, one := range n.running {
		select {
		case <-one.over:
		default:
			return took < nodesWithin
		}
	}
	return false
}

// complaints says why machines forward no rank.
func (n *nodes) complaints() (texts []string) {
	for _, one := range n.running {
		select {
		case <-one.over:
			one.mu.Lock()
			lines := strings.Split(strings.TrimSpace(one.said.String()), "\n")
			texts = append(texts, fmt.Sprintf("%s: %s", one.command, visible.Text(lines[len(lines)-1])))
			one.mu.Unlock()
		default:
		}
	}
	return texts
}

// leave ends the commands.
func (n *nodes) leave() {
	for _, one := range n.running {
		if one.stdin == nil {
			continue
		}
		_ = one.stdin.Close() // which ends the one there
		select {
		case <-one.over:
		case <-time.After(time.Second):
			_ = one.cmd.Process.Kill()
			<-one.over
		}
	}
	n.running, n.reached = nil, false
}

// slurmNodes returns commands that run another on the other nodes of this job of Slurm.
func slurmNodes(ctx context.Context) (commands []string) {
	job, list, own := os.Getenv("SLURM_JOB_ID"), os.Getenv("SLURM_STEP_NODELIST"), os.Getenv("SLURMD_NODENAME")
	if job == "" || list == "" || own == "" || list == own {
		return nil
	}
	names, err := exec.CommandContext(ctx, "scontrol", "show", "hostnames", list).Output()
	if err != nil {
		return nil
	}
	for name := range strings.FieldsSeq(string(names)) {
		if name != own {
			commands = append(commands,
				fmt.Sprintf("srun --jobid=%s --overlap --nodes=1 --ntasks=1 --nodelist=%s --quiet", job, name))
		}
	}
	return commands
}

// forwardRanks writes what the ranks of this machine record to standard output, until standard input ends.
func forwardRanks(cmd *cobra.Command, what string) error {
	wrong := cli.BadUsage(fmt.Errorf("flag --forward: %q: must be the number of ranks, a colon and some of them: 4:1,3",
		what))
	of, list, _ := strings.Cut(what, ":")
	world, err := strconv.Atoi(of)
	if err != nil || world < 2 {
		return wrong
	}
	var ranks []int
	for text := range strings.SplitSeq(list, ",") {
		rank, err := strconv.Atoi(text)
		if err != nil || rank < 0 || rank >= world {
			return wrong
		}
		ranks = append(ranks, rank)
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, cmd.InOrStdin())
		stop()
	}()
	if err := loop.Forward(ctx, cmd.OutOrStdout(), world, ranks, forwardIn); err != nil &&
		!errors.Is(err, context.Canceled) {
		return fmt.Errorf("python: %w", err)
	}
	return nil
}

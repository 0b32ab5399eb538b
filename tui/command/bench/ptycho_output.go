package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/sim/ptycho/throughput"
	"prismtop/sim/ptycho/trial"
	"prismtop/tui/command/cli"
)

// sweepOutput is what bench ptycho writes besides standard output.
type sweepOutput struct {
	outputFolder
	force   bool
	formats []string

	kept [][]byte // the files of the reconstruction; nil for none

	logFolder string
	monitor   throughput.Monitor
	log       *os.File
}

// monitorLog is the file of --log-dir.
const monitorLog = "inference_log.jsonl"

func (o *sweepOutput) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.path, "output", "", "folder for the report, made if it is not there; none is written without")
	flags.BoolVar(&o.force, "force", false, "replace files of the same names in the folder")
	flags.StringSliceVar(&o.formats, "formats", slices.Clone(throughput.Formats), "formats of the report")
	flags.StringVar(&o.logFolder, "log-dir", "", "folder with a log of every inference, "+monitorLog+
		", which is appended to")
}

// open prepares the folders. None of their files may be one in claims.
func (o *sweepOutput) open(cmd *cobra.Command, claims cli.Claims) error {
	o.claims = claims
	for _, f := range o.formats {
		if !slices.Contains(throughput.Formats, f) {
			return fmt.Errorf("flag --formats: %q: must be some of json, csv, md, html, svg and png", f)
		}
	}
	switch {
	case o.force && o.path == "":
		return errors.New("flag --force: replaces files of --output, which is missing")
	case cmd.Flags().Changed("formats") && o.path == "":
		return errors.New("flag --formats: is of the files of --output, which is missing")
	}
	if o.logFolder != "" {
		if err := claims.Append("flag --log-dir", o.logPath()); err != nil {
			return err
		}
	}
	if o.path != "" {
		names := slices.Concat(throughput.FileNames(o.formats), reconstructionNames())
		if err := o.prepare(names, o.force); err != nil {
			return err
		}
	}
	if err := o.openLog(); err != nil {
		o.outputFolder.close()
		return fmt.Errorf("flag --log-dir: %s: %w", o.logFolder, cli.Bare(err))
	}
	return nil
}

// logPath returns the path of the log.
func (o *sweepOutput) logPath() string { return filepath.Join(o.logFolder, monitorLog) }

// openLog opens the log of --log-dir.
func (o *sweepOutput) openLog() error {
	if o.logFolder == "" {
		return nil
	}
	if err := os.MkdirAll(o.logFolder, 0o777); err != nil {
		return err
	}
	log, err := os.OpenFile(o.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err == nil {
		o.log, o.monitor.To = log, log
	}
	return err
}

// reconstruction is the name of the files of --output with the object that the trials reconstructed.
const reconstruction = "reconstruction"

func reconstructionNames() []string {
	var names []string
	for _, suffix := range trial.Suffixes {
		names = append(names, reconstruction+suffix)
	}
	return names
}

// take reads the files of a reconstruction that trials left, if one got so far.
func (o *sweepOutput) take(base string) {
	var all [][]byte
	for _, suffix := range trial.Suffixes {
		data, err := os.ReadFile(base + suffix)
		if err != nil {
			return
		}
		all = append(all, data)
	}
	o.kept = all
}

// write writes the report and the reconstruction, all of the files or none.
func (o *sweepOutput) write(r *throughput.Report) error {
	err := o.monitor.Err()
	if o.path == "" {
		return err
	}
	names, data, broken := throughput.Files(r, o.formats)
	if broken != nil {
		return errors.Join(err, broken)
	}
	if o.kept != nil {
		names, data = slices.Concat(names, reconstructionNames()), slices.Concat(data, o.kept)
	}
	if failed := o.outputFolder.write(names, data); failed != nil {
		err = errors.Join(err, fmt.Errorf("flag --output: %w", failed))
	}
	return err
}

// close closes the log, and gives the folder of the report back.
func (o *sweepOutput) close() {
	if o.log != nil {
		_ = o.log.Close() // what was written is in the file
	}
	o.outputFolder.close()
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/adviser"
	"prismtop/sim/bench/suite"
)

// ampFlags are the flags of bench amp.
type ampFlags struct {
	sizes      []string
	rates      []float64
	iterations int
	seeds      int
	noAdvice   bool

	sized []suite.AMPGeometry // of sizes
}

// ampPart returns the command bench amp.
func ampPart() *part {
	standard := suite.DefaultAMP()
	return &part{
		use: "amp", aside: true, short: "Measure time, memory, quality and risk of each mode by image size, and " +
			"advise for or against it here",
		extra: func(cmd *cobra.Command, f *suiteFlags) {
			roundFlags(cmd, f)
			f.amp = &ampFlags{}
			flags := cmd.Flags()
			flags.StringSliceVar(&f.amp.sizes, "sizes", sizesOf(standard.Sizes), "sides of the field and of the "+
				"object's window in pixels; the window is a quarter where it is not given")
			flags.Float64SliceVar(&f.amp.rates, "learning-rates", standard.LearningRates,
				"learning rates of the trainings, beside the preset's")
			flags.Lookup("learning-rates").DefValue = "1e-4,1e-3,1e-2" // instead of 0.000100,0.001000 and so on
			flags.IntVar(&f.amp.iterations, "iterations", standard.Iterations, "iterations of a training")
			flags.IntVar(&f.amp.seeds, "seeds", standard.Seeds, "trainings of each kind, from other weights")
			flags.BoolVar(&f.amp.noAdvice, "no-advice", false, "do not keep the advice")
		},
		plan: func(s *suite.Suite, f *suiteFlags, _ func(*profiles.Event)) {
			s.AMP(suite.AMPOptions{Sizes: f.amp.sized, LearningRates: f.amp.rates, Iterations: f.amp.iterations,
				Seeds: f.amp.seeds}, 1)
		},
		text:  suite.Text("Mixed precision by image size", suite.TheSizes),
		files: []string{"amp_"},
	}
}

func sizesOf(all []suite.AMPGeometry) (texts []string) {
	for _, g := range all {
		texts = append(texts, g.String())
	}
	return texts
}

// check checks the flags and reads the sizes.
func (f *ampFlags) check(of *suiteFlags) error {
	err := errors.Join(checkSets(of.sets, "--sizes decides it, as in --sizes 1024/256", "size", "object_size"),
		checkSets(of.sets, "the measurement decides it, the same for all sizes", suite.AMPFixed()...))
	if err != nil {
		return err
	}
	f.sized = nil
	for _, text := range f.sizes {
		g, err := parseSize(text)
		if err != nil {
			return err
		}
		if err := suite.CheckAMP(of.settings, g); err != nil {
			return fmt.Errorf("flag --sizes: %s: %w", text, err)
		}
		if !slices.Contains(f.sized, g) {
			f.sized = append(f.sized, g)
		}
	}
	switch {
	case len(f.sizes) == 0:
		return errors.New("flag --sizes: must not be empty")
	case f.iterations < 10 || f.iterations > 100_000:
		return fmt.Errorf("flag --iterations: %d: must be from 10 to 100000", f.iterations)
	case f.seeds < 1 || f.seeds > 100:
		return fmt.Errorf("flag --seeds: %d: must be from 1 to 100", f.seeds)
	}
	for _, rate := range f.rates {
		if !(rate > 0 && rate <= 10) {
			return fmt.Errorf("flag --learning-rates: %g: must be above 0, and 10 at most", rate)
		}
	}
	return nil
}

// parseSize reads "512/128", or "512" for a window of a quarter.
func parseSize(text string) (g suite.AMPGeometry, err error) {
	field, window, both := strings.Cut(text, "/")
	if g.Size, err = strconv.Atoi(field); err == nil && both {
		g.ObjectSize, err = strconv.Atoi(window)
	} else {
		g.ObjectSize = g.Size / 4
	}
	if err != nil || g.Size < 1 || g.ObjectSize < 1 {
		return g, fmt.Errorf("flag --sizes: %q: must be like 512/128, the sides of the field and of the "+
			"object's window", text)
	}
	return g, nil
}

// keepAdvice keeps what follows from the measurement of mixed precision, unless that is not wanted. What was measured
// before an interruption is kept too.
func (f *suiteFlags) keepAdvice(r *suite.Report) error {
	advice := r.Advice()
	if len(advice) == 0 || f.amp != nil && f.amp.noAdvice {
		return nil
	}
	store, err := adviser.UserStore()
	if err != nil {
		return err
	}
	return store.Add(context.Background(), advice)
}

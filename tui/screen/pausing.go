package screen

import "prismtop/profiles"

// pausing pauses the run between two iterations, steps it and resumes it, and knows what
// was asked for last, which the run may not have reported yet.
type pausing struct {
	*seat
	*asking
	want *bool // nil once the run has reported it
}

// ask pauses the run after the current iteration, or resumes it, if supported.
func (p *pausing) ask(paused bool) {
	kind := profiles.ResumeCommand
	if paused {
		kind = profiles.PauseCommand
	}
	if p.keys.can(kind) {
		p.do(profiles.Command{Kind: kind})
	}
}

// toggle pauses the run, or resumes it.
func (p *pausing) toggle() {
	switch {
	case p.snap == nil:
		p.say(errNotBegun.Error())
		return
	case p.over():
		p.say(p.keys.runIsOver())
		return
	}
	pause := !p.paused()
	p.want = &pause
	p.ask(pause)
}

// step runs one iteration of a paused run.
func (p *pausing) step() {
	if p.over() {
		p.say(p.keys.runIsOver())
		return
	}
	if !p.paused() || p.snap == nil {
		p.say(p.keys.Say(stepNeedsPause))
		return
	}
	p.do(profiles.Command{Kind: profiles.StepCommand})
}

// settle forgets a request that the newest snapshot has fulfilled, or that its end has overtaken.
func (p *pausing) settle() {
	if p.want != nil && (p.over() || (p.snap.State == profiles.Paused) == *p.want) {
		p.want = nil
	}
}

// paused reports whether the run is paused, as requested or as reported.
func (p *pausing) paused() bool {
	if p.want != nil {
		return *p.want
	}
	return p.snap != nil && p.snap.State == profiles.Paused
}

// state returns the run's state, as requested or as reported.
func (p *pausing) state() profiles.State {
	s := p.snap.State
	if p.want != nil && *p.want && s == profiles.Running {
		return profiles.Paused
	}
	return s
}

// still reports whether the run on screen computes nothing, because it is paused or over.
func (p *pausing) still() bool { return p.paused() || p.over() }

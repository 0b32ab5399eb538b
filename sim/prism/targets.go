package prism

// targets are the measurements that a sample's outputs are to match, [N, N] each. While a plan is fed and the device
// maps its inputs, the plan's own memory has the newest.
type targets struct{ old, new []float32 }

// keep copies the targets from a plan that may have the newest; it may be nil.
func (t *targets) keep(p *program) {
	if p != nil && p.fed {
		p.keep(TargetOldInput, t.old)
		p.keep(TargetNewInput, t.new)
	}
}

// feed writes the targets to a plan.
func (t *targets) feed(p *program) {
	p.write(TargetOldInput, t.old)
	p.write(TargetNewInput, t.new)
}

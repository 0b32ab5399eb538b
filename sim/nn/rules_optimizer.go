package nn

// The optimiser's operators occur in no graph; the compiler adds them.

func (Seed) flops(in, _ []spec) int64        { return int64(len(in)) }
func (Unscale) flops(in, _ []spec) int64     { return in[0].elements() }
func (AdamStep) flops(_, _ []spec) int64     { return 1 }
func (ScalerUpdate) flops(_, _ []spec) int64 { return 2 }
func (o Adam) flops(in, _ []spec) int64 {
	perElement := int64(13) // moments 7, corrections 2, root, sum, quotient and update
	if o.AMSGrad {
		perElement++
	}
	return perElement * in[0].elements()
}

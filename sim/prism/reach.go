package prism

// Reach returns the half-open range of rows, and of columns, in which the
// decoder's output can be non-zero: padding and trimming leave a dark border in
// the object's window (spec/prism.md §1.4).
func (d *Decoder) Reach() (first, end int) {
	side := 4 << d.upsampling
	if len(d.channels) > d.upsampling+1 {
		side -= 2 // the last convolution has no padding
	}
	first, end = cropPadRange(0, side, side, d.config.ObjectSize)
	return cropPadRange(first, end, d.config.ObjectSize, d.config.Size)
}

// cropPadRange follows the range [first, end) of a side through PRISM's crop or
// pad to a target.
func cropPadRange(first, end, side, target int) (int, int) {
	shift := (target - side) / 2
	if target < side {
		shift = -((side-target)/2 + 1)
	}
	return max(first+shift, 0), min(end+shift, target)
}

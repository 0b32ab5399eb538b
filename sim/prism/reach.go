package prism

// Reach is the half-open range of rows, and of columns, of the field that the
// decoder's output can be non-zero in: padding and trimming leave a border of the
// object's window dark (spec/prism.md §1.4).
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

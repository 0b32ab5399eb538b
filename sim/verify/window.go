package verify

import (
	"fmt"

	"prismtop/sim/cpu/host"
)

// window checks the weights of SSIM's Gaussian window.
func window(c *checker) error {
	const name = "window"
	a := c.arrays[name+"_64"]
	if a == nil {
		return nil
	}
	c.run("SSIM window", name, func() error {
		weights := host.SSIMWindow()
		side := len(weights)
		if len(a.shape) != 2 || a.shape[0] != side || a.shape[1] != side {
			return fmt.Errorf("has the shape %v, SSIM's window is %dx%[2]d", a.shape, side)
		}
		flat := make([]float32, 0, side*side)
		for _, row := range weights {
			flat = append(flat, row[:]...)
		}
		c.compare(name, flat)
		return nil
	})
	return nil
}

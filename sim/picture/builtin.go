package picture

import (
	"context"
	"fmt"
	"strings"
)

// builtins are the objects that the program draws, the default first.
var builtins = []struct {
	name string
	draw func(ctx context.Context, side int) []float64 // side×side intensities from 0 to 1
}{
	{"moon", drawMoon},
	{"usaf", drawUSAF},
	{"star", drawStar},
	{"points", drawPoints},
}

// BuiltinNames lists the built-in objects, the default first.
func BuiltinNames() []string {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.name
	}
	return names
}

// Builtin draws a built-in object at the size of its window, antialiased, and
// places it in the field as Load does: moon (cratered, half lit), usaf (USAF-1951
// resolution target), star (Siemens star), points (point sources). The same size
// always gives the same picture. If ctx ends first, its error is returned.
func Builtin(ctx context.Context, name string, o Options) (*Object, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("object %q: %w", name, err)
	}
	for _, b := range builtins {
		if b.name != name {
			continue
		}
		p := intensity{w: o.ObjectSize, h: o.ObjectSize, pixels: b.draw(ctx, o.ObjectSize), white: 1}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("object %q: %w", name, err)
		}
		obj, err := place(ctx, p, o)
		if err != nil {
			return nil, fmt.Errorf("object %q at %d pixels: %w", name, o.ObjectSize, err)
		}
		obj.Name = name
		return obj, nil
	}
	return nil, fmt.Errorf("object %q: must be one of %s", name, strings.Join(BuiltinNames(), ", "))
}

// supersampling is the number of samples per pixel and axis: enough for smooth
// edges on small pictures, fewer for large ones.
func supersampling(side int) int {
	switch {
	case side <= 128:
		return 8
	case side <= 512:
		return 4
	}
	return 2
}

// supersample averages shade over each pixel. Coordinates go from −1 to 1
// across the picture, y downwards. The rest stays dark once ctx has ended.
func supersample(ctx context.Context, side int, shade func(x, y float64) float64) []float64 {
	n := supersampling(side)
	pixels := make([]float64, side*side)
	step := 2 / float64(side*n)
	for i := range side * n {
		if ctx.Err() != nil {
			break
		}
		y := (float64(i)+0.5)*step - 1
		for j := range side * n {
			pixels[i/n*side+j/n] += shade((float64(j)+0.5)*step-1, y)
		}
	}
	for i := range pixels {
		pixels[i] /= float64(n * n)
	}
	return pixels
}

package picture

import (
	"context"
	"math"
	"math/rand/v2"
	"prismtop/profiles/machine"
	"sync"
)

// vector is a point or direction in space: x to the right, y down, z towards
// the viewer.
type vector [3]float64

func (a vector) dot(b vector) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func (a vector) plus(scale float64, b vector) vector {
	return vector{a[0] + scale*b[0], a[1] + scale*b[1], a[2] + scale*b[2]}
}

func (a vector) unit() vector {
	n := 1 / math.Sqrt(a.dot(a))
	return vector{n * a[0], n * a[1], n * a[2]}
}

// The moon's appearance.
const (
	moonRadius = 0.93 // relative to half the picture
	moonSeed   = 1969
	// craterCount craters with radii from smallestCrater to largestCrater, in
	// radii of the moon.
	craterCount    = 620
	smallestCrater = 0.014
	largestCrater  = 0.26
)

// sunlight is the direction to the sun: right, a little up, slightly in front,
// so that a bit more than half of the disc is lit.
var sunlight = vector{0.935, -0.27, 0.23}

// crater is an impact on the sphere.
type crater struct {
	centre vector
	radius float64 // of the rim's crest, in radii of the moon
	depth  float64 // slope factor: 1 is fresh, less is worn
	rays   float64 // brightness of the ejecta; 0 for old craters
	phase  float64 // rotation of the rays
}

// drawMoon draws a cratered sphere lit from the side. The surface is a sphere
// whose normals are tilted by the slopes of craters and of rough ground; its
// brightness is half Lambert's law and half Lommel and Seeliger's, times an
// albedo with dark plains and bright rays. Bands of rows are drawn concurrently
// and independently. Once ctx has ended, the rest stays dark.
func drawMoon(ctx context.Context, side int) []float64 {
	const band = 32 // pixel rows
	n := moonSamples(side)
	craters := moonCraters()
	pixels := make([]float64, side*side)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(machine.Processors(), (side+band-1)/band) {
		workers.Go(func() {
			for top := range next {
				drawBand(ctx, pixels, side, n, top, min(top+band, side), craters)
			}
		})
	}
	for top := 0; top < side && ctx.Err() == nil; top += band {
		next <- top
	}
	close(next)
	workers.Wait()
	return pixels
}

// moonSamples is the number of samples per pixel and axis.
func moonSamples(side int) int {
	switch {
	case side <= 128:
		return 3
	case side <= 1024:
		return 2
	}
	return 1
}

// drawBand draws the pixel rows from top to bottom, with n×n samples per pixel.
func drawBand(ctx context.Context, pixels []float64, side, n, top, bottom int, craters []crater) {
	r := newRelief(side*n, top*n, bottom*n)
	for _, c := range craters {
		r.add(c)
	}
	for y := top; y < bottom && ctx.Err() == nil; y++ {
		for x := range side {
			middle := r.place(float64(y*n)+float64(n)/2, float64(x*n)+float64(n)/2)
			if !lit(middle, 4/float64(side)) {
				continue
			}
			ground, sum := groundAt(middle), 0.0
			for k := range n * n {
				sum += r.brightness(y*n+k/n, x*n+k%n, ground)
			}
			pixels[y*side+x] = sum / float64(n*n)
		}
	}
}

// moonCraters scatters craters over the near side: few large, many small, the
// number above a radius falling with its square root to the power 3.4, roughly as
// counted on old terrain.
func moonCraters() []crater {
	random := rand.New(rand.NewPCG(moonSeed, 7))
	craters := make([]crater, 0, craterCount)
	const slope = 1.7
	low, high := math.Pow(smallestCrater, -slope), math.Pow(largestCrater, -slope)
	for len(craters) < craterCount {
		p := vector{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}.unit()
		u, wear, young, phase := random.Float64(), random.Float64(), random.Float64(), random.Float64()
		c := crater{centre: p, radius: math.Pow(high+(low-high)*u, -1/slope), phase: 2 * math.Pi * phase}
		c.depth = 0.45 + 0.55*wear
		if c.radius > 0.12 {
			c.depth *= 0.6 // large basins are flat
		}
		if young > 0.985 && c.radius < 0.06 {
			c.rays = 0.5
		}
		if p[2] > -0.2 {
			craters = append(craters, c)
		}
	}
	// One young crater in the lit south, with rays over half the disc.
	tycho := crater{centre: vector{0.28, 0.62, 0.73}.unit(), radius: 0.06, depth: 1, rays: 1}
	return append(craters, tycho)
}

// relief gathers slopes and albedo on rows top to bottom of a square grid of
// samples.
type relief struct {
	side, top, bottom int
	points            []vector  // points on the unit sphere; zero where there is no light
	slope             []vector  // gradient of the height along the surface
	bright            []float64 // albedo added by rays
}

func newRelief(side, top, bottom int) *relief {
	n := side * (bottom - top)
	r := &relief{side: side, top: top, bottom: bottom,
		points: make([]vector, n), slope: make([]vector, n), bright: make([]float64, n)}
	for i := top; i < bottom; i++ {
		for j := range side {
			if p := r.place(float64(i)+0.5, float64(j)+0.5); p[2] > 0 && p.dot(sunlight) > -night {
				r.points[r.index(i, j)] = p
			}
		}
	}
	return r
}

func (r *relief) index(i, j int) int { return (i-r.top)*r.side + j }

// place returns the point of the unit sphere at row y and column x, in samples; z
// is 0 off the disc.
func (r *relief) place(y, x float64) vector {
	scale := 2 / (float64(r.side) * moonRadius)
	p := vector{(x - float64(r.side)/2) * scale, (y - float64(r.side)/2) * scale, 0}
	p[2] = math.Sqrt(math.Max(0, 1-p.dot(p)))
	return p
}

// reach is the extent of a crater's ejecta, in its radii.
func (c crater) reach() float64 {
	if c.rays > 0 {
		return 12
	}
	return 2.2
}

// add adds a crater to the samples within its reach.
func (r *relief) add(c crater) {
	reach := c.reach() * c.radius
	half := float64(r.side) / 2 * moonRadius
	middle := float64(r.side) / 2
	clamp := func(v float64, low, high int) int { return max(low, min(high, int(v))) }
	first := clamp(middle+(c.centre[0]-reach)*half, 0, r.side)
	last := clamp(middle+(c.centre[0]+reach)*half+1, 0, r.side)
	for i := clamp(middle+(c.centre[1]-reach)*half, r.top, r.bottom); i < clamp(middle+(c.centre[1]+reach)*half+1,
		r.top, r.bottom); i++ {
		for j := first; j < last; j++ {
			k := r.index(i, j)
			p := r.points[k]
			away := p.plus(-1, c.centre)
			square := away.dot(away)
			if p[2] == 0 || square >= reach*reach || square == 0 {
				continue
			}
			distance := math.Sqrt(square)
			r.slope[k] = r.slope[k].plus(c.depth*craterSlope(distance/c.radius)/distance, away)
			if c.rays > 0 {
				r.bright[k] += c.rayBrightness(away, distance)
			}
		}
	}
}

// craterSlope returns the slope of a crater's profile at t radii from its centre:
// a bowl whose wall is steepest near the crest at 1, and an apron that falls
// away.
func craterSlope(t float64) float64 {
	switch {
	case t < 1:
		return 0.6 * math.Sin(math.Pi*t*t*(0.6+0.4*t))
	case t < 2.2:
		u := (t - 1) / 1.2
		return -0.34 * math.Sin(math.Pi*math.Sqrt(u)) * (1 - u)
	}
	return 0
}

// rayBrightness returns the albedo added by a crater's rays at an offset from its
// centre.
func (c crater) rayBrightness(away vector, distance float64) float64 {
	east := vector{c.centre[2], 0, -c.centre[0]}.unit()
	north := vector{
		c.centre[1]*east[2] - c.centre[2]*east[1],
		c.centre[2]*east[0] - c.centre[0]*east[2],
		c.centre[0]*east[1] - c.centre[1]*east[0],
	}
	angle := math.Atan2(away.dot(north), away.dot(east)) + c.phase
	t := distance / c.radius
	streaks := math.Pow(0.5+0.5*math.Sin(7*angle+2*math.Sin(3*angle)), 3)
	streaks += 0.6 * math.Pow(0.5+0.5*math.Sin(13*angle+1.3), 4)
	halo := math.Exp(-0.5 * (t - 1) * (t - 1))
	return c.rays * (0.25*halo + 0.3*streaks*math.Exp(-t/4)*math.Min(1, t)*(1-t/c.reach()))
}

// ground describes the surface without craters.
type ground struct {
	slope  vector
	albedo float64
}

// lit reports whether light may fall within margin of p, a point from
// relief.place.
func lit(p vector, margin float64) bool {
	edge := 1 + 3*margin // squares grow by twice the margin plus its square
	return p[0]*p[0]+p[1]*p[1] < edge && p.dot(sunlight) > -night-12*margin
}

// night is how far beyond the sphere's terminator light still falls, as the
// cosine of the angle to the sun.
const night = 0.07

// groundAt returns terrain that is rough everywhere, dark on the plains, whose
// shores are ragged, and mottled elsewhere.
func groundAt(p vector) ground {
	var g ground
	for axis := range 3 {
		g.slope[axis] = 0.22 * (fractal(p.plus(20*float64(axis+1), vector{1, 1, 1}), 9, 3) - 0.5)
	}
	plains := fractal(p.plus(1, vector{3.1, 7.7, 1.3}), 1.6, 5)
	shore := math.Min(1, math.Max(0, (plains-0.47)/0.09))
	g.albedo = 0.78 - 0.42*shore*shore*(3-2*shore) + 0.22*(fractal(p, 7, 3)-0.5)
	return g
}

// brightness returns the light from sample i, j; 0 off the disc and on the night
// side.
func (r *relief) brightness(i, j int, g ground) float64 {
	k := r.index(i, j)
	p := r.points[k]
	// The sphere's own shading fades the light beyond the terminator, which
	// slopes alone would not do.
	dawn := math.Min(1, math.Max(0, (p.dot(sunlight)+night)/0.16))
	if p[2] == 0 || dawn <= 0 {
		return 0
	}
	slope := r.slope[k].plus(1, g.slope)
	slope = slope.plus(-slope.dot(p), p)
	normal := p.plus(-1, slope).unit()
	sun := normal.dot(sunlight)
	if sun <= 0 {
		return 0
	}
	seen := math.Max(0.05, normal[2])
	reflected := 0.5*sun + 0.9*sun/(sun+seen)
	return reflected * dawn * dawn * (3 - 2*dawn) * math.Min(1.3, g.albedo+r.bright[k])
}

// fractal returns a sum of smooth noises of doubling frequency, about 0 to 1.
func fractal(p vector, frequency float64, octaves int) float64 {
	sum, weight, total := 0.0, 1.0, 0.0
	for range octaves {
		sum += weight * noise(vector{p[0] * frequency, p[1] * frequency, p[2] * frequency})
		total += weight
		weight /= 2
		frequency *= 2
	}
	return sum / total
}

// noise interpolates smoothly between random values at integer points.
func noise(p vector) float64 {
	var cell [3]int64
	var t vector
	for axis, v := range p {
		f := math.Floor(v)
		u := v - f
		cell[axis], t[axis] = int64(f), u*u*(3-2*u)
	}
	sum := 0.0
	for corner := range int64(8) {
		weight := 1.0
		var at [3]int64
		for axis := range 3 {
			bit := corner >> axis & 1
			at[axis] = cell[axis] + bit
			if bit == 1 {
				weight *= t[axis]
			} else {
				weight *= 1 - t[axis]
			}
		}
		sum += weight * lattice(at)
	}
	return sum
}

// lattice returns a random number from 0 to 1 for an integer point: its
// coordinates mixed by the finaliser of SplitMix64.
func lattice(at [3]int64) float64 {
	h := uint64(at[0])*0x9E3779B97F4A7C15 ^ uint64(at[1])*0xC2B2AE3D27D4EB4F ^ uint64(at[2])*0x165667B19E3779F9
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return float64((h^h>>31)>>11) / (1 << 53)
}

package trial

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"hash/fnv"
	"math"
	"math/cmplx"

	"prismtop/sim/ptycho/scan"
)

// container holds the network's input: the patterns of the groups, normalised.
type container struct {
	scan     *scan.Scan
	groups   []scan.Group
	channels int
	patterns []float32 // [groups, channels, N, N]
	offsets  []float32 // [groups, channels, 2]
}

// normalise fills the container, a batch of groups at a time. One factor, the scan's or the one that makes the mean
// square sum of all patterns (N/2)², is followed by scale.
func (c *container) normalise(batch int, scale float64) error {
	plane := c.scan.Size * c.scan.Size
	c.patterns = make([]float32, len(c.groups)*c.channels*plane)
	c.offsets = make([]float32, 0, len(c.groups)*c.channels*2)
	total, at := 0.0, 0
	c.batches(batch, func(groups []scan.Group) {
		for _, g := range groups {
			for _, position := range g.Positions {
				for _, v := range c.scan.Pattern(position) {
					total += float64(v) * float64(v)
				}
				at += copy(c.patterns[at:], c.scan.Pattern(position))
			}
			c.offsets = append(c.offsets, c.scan.Offsets(g)...)
		}
	})
	if !(total > 0) || math.IsInf(total, 0) {
		return errors.New("normalise: the diffraction is 0 or not finite everywhere")
	}
	half := float64(c.scan.Size) / 2
	normal := math.Sqrt(half * half * float64(len(c.groups)*c.channels) / total)
	if c.scan.Factor > 0 {
		normal = c.scan.Factor
	}
	factor := float32(normal * scale)
	at = 0
	c.batches(batch, func(groups []scan.Group) {
		part := c.patterns[at:][:len(groups)*c.channels*plane]
		for i := range part {
			part[i] *= factor
		}
		at += len(part)
	})
	return nil
}

// batches calls take with the groups, batch by batch.
func (c *container) batches(batch int, take func([]scan.Group)) {
	for from := 0; from < len(c.groups); from += batch {
		take(c.groups[from:min(from+batch, len(c.groups))])
	}
}

// batch fills the network's inputs with a batch of groups from one on, which begins again
// at the first where the groups end.
func (c *container) batch(input, offsets []float32, from, batch int) {
	values, pair := len(c.patterns)/len(c.groups), 2*c.channels
	for i := range batch {
		g := (from + i) % len(c.groups)
		copy(input[i*values:][:values], c.patterns[g*values:])
		copy(offsets[i*pair:][:pair], c.offsets[g*pair:])
	}
}

// proof shows which objects were computed: their checksum, and SamplesPerObject numbers of each.
type proof struct {
	hash    hash.Hash
	buffer  []byte
	samples []float32
}

func newProof() *proof { return &proof{hash: fnv.New128a()} }

// add adds the next group's object, a plane of n×n.
func (p *proof) add(object []complex64, n int) {
	p.buffer = p.buffer[:0]
	modulus := 0.0
	for _, z := range object {
		p.buffer = binary.LittleEndian.AppendUint32(p.buffer, math.Float32bits(real(z)))
		p.buffer = binary.LittleEndian.AppendUint32(p.buffer, math.Float32bits(imag(z)))
		modulus += cmplx.Abs(complex128(z))
	}
	_, _ = p.hash.Write(p.buffer) // a hash takes everything
	for i := range sampleSide {
		for k := range sampleSide {
			z := object[(2*i+1)*n/(2*sampleSide)*n+(2*k+1)*n/(2*sampleSide)]
			p.samples = append(p.samples, real(z), imag(z))
		}
	}
	p.samples = append(p.samples, float32(modulus/float64(len(object))))
}

// sampleSide is the side of the grid of pixels of an object that are in a proof.
const sampleSide = 4

// SamplesPerObject is the number of numbers of each object in Run.Samples.
const SamplesPerObject = 2*sampleSide*sampleSide + 1

func (p *proof) checksum() string { return hex.EncodeToString(p.hash.Sum(nil)) }

package cpu

import "prismtop/sim/cpu/vec"

// weightShares bounds the number of parts of the image whose weight gradients are
// summed separately and then added; weightFloats bounds the size of a gradient
// treated this way.
const (
	weightShares = 8
	weightFloats = 1 << 14
)

// bandWeight computes gw[s][l][k] = Σ small[s, p]·large[l, stride·p − pad + k] from
// a band of large, copied as for a gather, and the band of small with zeros
// in the columns between its rows.
type bandWeight struct {
	bands
	gw, small, large []float32
	parts            []float32 // one gradient per share
	scratch          []float32
	size, shares     int
	set              vec.Set
}

// weightBands binds a weight gradient, or returns nil if bands do not fit.
func (b *binder) weightBands(g *geometry, gw, small, large []float32) func() {
	form, ok := g.gatherBands()
	if !ok || len(gw) > weightFloats {
		return nil
	}
	d := &bandWeight{bands: form, gw: gw, small: small, large: large, set: b.backend.set,
		shares: min(weightShares, form.count())}
	b.table(2*len(d.segments), 4)
	d.size = (d.packed()+d.out*d.rows*d.pitch+lineFloats-1)/lineFloats*lineFloats + lineFloats
	d.parts, d.scratch = b.floats(d.shares*len(gw)), b.floats(d.shares*d.size)
	places, pool := &places{}, b.backend.pool
	compute := b.each(d.shares, 1, func(lo, hi int) {
		place := places.take()
		defer places.give(place)
		scratch := d.scratch[place*d.size:][:d.size]
		for share := lo; share < hi; share++ {
			part := d.parts[share*len(d.gw):][:len(d.gw)]
			clear(part)
			for i := share * d.count() / d.shares; i < (share+1)*d.count()/d.shares && !pool.Ended(); i++ {
				d.add(part, scratch, d.block(i))
			}
		}
	})
	return func() {
		compute()
		copy(d.gw, d.parts)
		for share := 1; share < d.shares; share++ {
			d.set.Add(d.gw, d.gw, d.parts[share*len(d.gw):])
		}
	}
}

// add adds a block's products to a gradient.
func (d *bandWeight) add(part, scratch []float32, at block) {
	set, one := d.set, d.rows*d.pitch
	copies, p := scratch[:d.packed()], scratch[d.packed():]
	d.pack(set, copies, d.large, at)
	n := d.run(at)
	rows, columns := span{at.row, 1}.within(at.rows, d.outH), span{at.column, 1}.within(d.pitch, d.outW)
	columns.hi = at.columns
	for s := range d.out {
		plane := d.small[(at.image*d.out+s)*d.outH*d.outW:][:d.outH*d.outW]
		packPlane(set, p[s*one:][:at.rows*d.pitch], plane, rows, columns, d.pitch, d.outW)
	}
	group := set.DotRows()
	for s := 0; s < d.out; s += group {
		set.Dots(part[s*d.outStride:], d.outStride, min(group, d.out-s), p[s*one:], one, n, copies, d.segments)
	}
}

package matrix

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// Go interrupts threads by signals at any instruction, and the system switches
// between threads: neither may cost a tile. Products run on more threads than there
// are processors, beside collections of garbage that interrupt all of them.
func TestTilesSurviveInterruptions(t *testing.T) {
	tiles, err := DetectTiles()
	if err != nil {
		t.Skipf("no AMX: %v", err)
	}
	threads := 4 * runtime.GOMAXPROCS(0)
	end := time.Now().Add(2 * time.Second)
	var group sync.WaitGroup
	for i := range threads {
		group.Go(func() {
			runtime.LockOSThread()
			p := randomProduct(rand.New(rand.NewPCG(8, uint64(i))), 8, 60, tileForms()[2*i%8])
			want := *p
			want.C = slices.Clone(p.C)
			PlainTiles.Product(&want)
			for time.Now().Before(end) {
				tiles.Product(p)
				for k := range p.C {
					if off := math.Abs(float64(p.C[k] - want.C[k])); !(off <= 1e-3) {
						t.Errorf("element %d is %v, plain Go has %v", k, p.C[k], want.C[k])
						return
					}
				}
				var grown []byte
				for n := range 8 { // moves the stack and makes garbage
					grown = append(grown, make([]byte, 1<<n)...)
				}
				runtime.KeepAlive(grown)
			}
		})
	}
	group.Go(func() {
		for time.Now().Before(end) {
			runtime.GC()
		}
	})
	group.Wait()
}

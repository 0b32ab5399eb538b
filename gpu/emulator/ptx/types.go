package ptx

import "slices"

// dtype is a type of the language.
type dtype struct {
	name  string
	size  int // bytes, 0 for predicates
	class class
}

type class uint8

const (
	untyped  class = iota // .b32
	unsigned              // .u32
	signed                // .s32
	float                 // .f16, .f32, .f64
	brain                 // .bf16, .tf32
	packed                // .f16x2, .bf16x2
	boolean               // .pred
)

var dtypes = map[string]dtype{
	"b8": {"b8", 1, untyped}, "b16": {"b16", 2, untyped}, "b32": {"b32", 4, untyped}, "b64": {"b64", 8, untyped},
	"u8": {"u8", 1, unsigned}, "u16": {"u16", 2, unsigned}, "u32": {"u32", 4, unsigned}, "u64": {"u64", 8, unsigned},
	"s8": {"s8", 1, signed}, "s16": {"s16", 2, signed}, "s32": {"s32", 4, signed}, "s64": {"s64", 8, signed},
	"f16": {"f16", 2, float}, "f32": {"f32", 4, float}, "f64": {"f64", 8, float},
	"bf16": {"bf16", 2, brain}, "tf32": {"tf32", 4, brain},
	"f16x2": {"f16x2", 4, packed}, "bf16x2": {"bf16x2", 4, packed},
	"pred": {"pred", 0, boolean},
}

// bank returns the bank of a register of the type.
func (t dtype) bank() bank {
	switch t.size {
	case 0:
		return predicate
	case 8:
		return wide
	}
	return narrow
}

// cut truncates a value to the size of the type.
func (t dtype) cut(v uint64) uint64 {
	if t.size > 0 && t.size < 8 {
		v &= 1<<(8*t.size) - 1
	}
	return v
}

// extend widens a value of the type to 64 bits, with its sign if it has one.
func (t dtype) extend(v uint64) uint64 {
	shift := 64 - 8*t.size
	if t.class == signed {
		return uint64(int64(v<<shift) >> shift)
	}
	return v << shift >> shift
}

// specialBank holds the special registers with their banks.
var specialBank = map[string]bank{
	"%tid.x": narrow, "%tid.y": narrow, "%tid.z": narrow,
	"%ntid.x": narrow, "%ntid.y": narrow, "%ntid.z": narrow,
	"%ctaid.x": narrow, "%ctaid.y": narrow, "%ctaid.z": narrow,
	"%nctaid.x": narrow, "%nctaid.y": narrow, "%nctaid.z": narrow,
	"%laneid": narrow, "%warpid": narrow, "%nwarpid": narrow, "%smid": narrow, "%nsmid": narrow,
	"%lanemask_eq": narrow, "%lanemask_le": narrow, "%lanemask_lt": narrow, "%lanemask_ge": narrow,
	"%lanemask_gt": narrow, "%dynamic_smem_size": narrow, "%total_smem_size": narrow,
	"%gridid": wide, "%clock": narrow, "%clock64": wide, "%globaltimer": wide,
}

// timers are the special registers whose value differs at every read.
var timers = []string{"%clock", "%clock64", "%globaltimer"}

func isSpecial(name string) bool { _, ok := specialBank[name]; return ok }

func isTimer(name string) bool { return slices.Contains(timers, name) }

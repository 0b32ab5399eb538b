package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Pickles are programs for a stack machine, of which Python's runs any function of any module. This one
// has the instructions for values and containers, knows the few functions of torch.save by name, calls
// nothing, and refuses the rest.

// The values of a pickle are nil, bool, int64, float64, string, tuple, *list, *dict, *storage, *view and
// opaque, and while it is read also global.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{ keys, values []any }
	global string   // module and name of a function or class: "torch._utils _rebuild_tensor_v2"
	opaque struct{} // a value without meaning here: a device, a type, a set
)

// storage is a run of numbers in an entry of the archive.
type storage struct {
	class string // torch's name of the type: FloatStorage
	key   string // of the entry
	count int64
}

// view is a tensor: a part of a storage.
type view struct {
	of             *storage
	offset         int64
	shape, strides []int64
}

// The functions and classes that torch.save writes for state_dicts, by what is made of them.
const (
	orderedDict  global = "collections OrderedDict"
	size         global = "torch Size"
	rebuild      global = "torch._utils _rebuild_tensor"
	rebuildV2    global = "torch._utils _rebuild_tensor_v2"
	rebuildParam global = "torch._utils _rebuild_parameter"
	rebuildState global = "torch._utils _rebuild_parameter_with_state"
)

// passedOver are the other globals of which nothing is made.
var passedOver = []global{"torch device", "builtins set", "__builtin__ set", "builtins frozenset",
	"__builtin__ frozenset", "builtins complex", "__builtin__ complex"}

// torchTypes are the types of numbers, which are values too.
var torchTypes = []string{
	"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
	"complex128", "complex32",
}

// storageSizes are the bytes of a number of each class of storage.
var storageSizes = map[string]int64{
	"DoubleStorage": 8, "FloatStorage": 4, "HalfStorage": 2, "BFloat16Storage": 2, "LongStorage": 8, "IntStorage": 4,
	"ShortStorage": 2, "CharStorage": 1, "ByteStorage": 1, "BoolStorage": 1, "ComplexFloatStorage": 8,
	"ComplexDoubleStorage": 16,
}

// known reports whether a pickle may name g.
func (g global) known() bool {
	switch g {
	case orderedDict, size, rebuild, rebuildV2, rebuildParam, rebuildState:
		return true
	}
	if module, name, ok := cutGlobal(g); ok && module == "torch" {
		if _, stores := storageSizes[name]; stores || slices.Contains(torchTypes, name) {
			return true
		}
	}
	return slices.Contains(passedOver, g)
}

func cutGlobal(g global) (module, name string, ok bool) {
	for i := range g {
		if g[i] == ' ' {
			return string(g[:i]), string(g[i+1:]), true
		}
	}
	return "", "", false
}

// globalError refuses a pickle that names a function or class.
type globalError struct{ module, name string }

func (e *globalError) Error() string {
	return fmt.Sprintf("names %s.%s, which is not part of a state_dict and is never run: must hold tensors, numbers, "+
		"texts and containers alone; "+
		`write it again in Python with torch.save(m.state_dict(), "weights.pt")`, printed(e.module), printed(e.name))
}

// printed returns a text of a file that is safe to display.
func printed(s string) string {
	if q := strconv.Quote(s); len(q) != len(s)+2 {
		return q
	}
	return s
}

// unpickler is the machine. left is the number of bytes of memory that it may still take.
type unpickler struct {
	text  string
	at    int
	stack []any
	marks []int
	memo  [][]any // in blocks, so that it grows without copies
	noted uint64  // values in the memo
	left  *budget
}

// budget bounds the memory that reading a file takes.
type budget struct{ left int64 }

// errBudget refuses a file that wants more.
var errBudget = fmt.Errorf("damaged file of torch.save: takes more than %d times its size", budgetFactor)

func (b *budget) take(bytes int64) error {
	if bytes > b.left {
		return errBudget
	}
	b.left -= bytes
	return nil
}

// A file may take budgetFactor times its size and budgetFloor bytes.
const (
	budgetFactor = 4
	budgetFloor  = 64 << 10
)

var (
	errPickleShort = errors.New("the pickle ends too early")
	errPickleStack = errors.New("the pickle takes more from its stack than it put there")
	errPickleKind  = errors.New("the pickle applies an instruction to a value of another kind")
)

// unpickle runs a pickle and returns its value.
func unpickle(text string, left *budget) (any, error) {
	m := &unpickler{text: text, left: left}
	for {
		code, err := m.byte()
		if err != nil {
			return nil, err
		}
		if code == '.' {
			return m.pop()
		}
		if err := m.step(code); err != nil {
			return nil, err
		}
	}
}

// step carries out one instruction.
func (m *unpickler) step(code byte) error {
	switch code {
	case 0x80: // the protocol
		p, err := m.byte()
		if err == nil && (p < 2 || p > 5) {
			err = fmt.Errorf("the pickle is of protocol %d: must be of 2 to 5", p)
		}
		return err
	case 0x95: // a frame
		_, err := m.take(8)
		return err
	case '(':
		if err := m.grew(len(m.marks), cap(m.marks), 8); err != nil {
			return err
		}
		m.marks = append(m.marks, len(m.stack))
		return nil
	case '0':
		_, err := m.pop()
		return err
	case '1':
		_, err := m.marked()
		return err
	case '2':
		v, err := m.top()
		if err != nil {
			return err
		}
		return m.push(v, 0)
	case 'q', 'r', 0x94, 'h', 'j':
		return m.remember(code)
	case 'c', 0x93:
		return m.name(code)
	case 'Q':
		return m.persistent()
	case 'R', 0x81:
		return m.reduce()
	case 'b':
		return m.build()
	case ']', ')', '}', 0x8f, 't', 0x85, 0x86, 0x87, 'a', 'e', 's', 'u', 0x90, 0x91, 'l', 'd':
		return m.container(code)
	}
	return m.scalar(code)
}

// scalar pushes a number, a text or a truth value.
func (m *unpickler) scalar(code byte) error {
	switch code {
	case 'N':
		return m.push(nil, 0)
	case 0x88, 0x89:
		return m.push(code == 0x88, 0)
	case 'K', 'M', 'J':
		b, err := m.take(width(code))
		if err != nil {
			return err
		}
		n := int64(number(b))
		if code == 'J' {
			n = int64(int32(n))
		}
		return m.push(n, 8)
	case 0x8a: // a long number
		length, err := m.byte()
		if err != nil {
			return err
		}
		b, err := m.take(int(length))
		if err != nil {
			return err
		}
		if len(b) > 8 {
			return m.push(opaque{}, 0)
		}
		n := int64(number(b))
		if len(b) > 0 && len(b) < 8 && b[len(b)-1]&0x80 != 0 {
			n -= 1 << (8 * len(b))
		}
		return m.push(n, 8)
	case 'G':
		b, err := m.take(8)
		if err != nil {
			return err
		}
		return m.push(math.Float64frombits(binary.BigEndian.Uint64([]byte(b))), 8)
	case 'X', 0x8c, 0x8d, 'U', 'T', 'B', 'C', 0x8e:
		b, err := m.take(width(code))
		if err != nil {
			return err
		}
		n := number(b)
		if n > uint64(len(m.text)) {
			return errPickleShort
		}
		text, err := m.take(int(n))
		if err != nil {
			return err
		}
		return m.push(text, 16)
	}
	if code < 0x80 && code > ' ' {
		return fmt.Errorf("the pickle has the instruction %q, which torch.save does not write", code)
	}
	return fmt.Errorf("the pickle has the instruction %#x, which torch.save does not write", code)
}

// width is the number of bytes of an instruction's number, or of the length of its text.
func width(code byte) int {
	switch code {
	case 'K', 'U', 'C', 'q', 'h', 0x8c:
		return 1
	case 'M':
		return 2
	case 'J', 'X', 'T', 'B', 'r', 'j':
		return 4
	}
	return 8
}

// number reads an unsigned number, its lowest byte first.
func number(b string) (n uint64) {
	for i := range len(b) {
		n |= uint64(b[i]) << (8 * i)
	}
	return n
}

// memoBlock is the number of values in a block of the memo, which takes a page.
const memoBlock = 255

// remember carries out the instructions of the memo, whose places are filled in order.
func (m *unpickler) remember(code byte) error {
	at := m.noted
	if code != 0x94 {
		b, err := m.take(width(code))
		if err != nil {
			return err
		}
		at = number(b)
	}
	switch {
	case code == 'h' || code == 'j':
		if at >= m.noted {
			return errors.New("the pickle takes from its memo what it did not put there")
		}
		return m.push(m.memo[at/memoBlock][at%memoBlock], 0)
	case at > m.noted:
		return errors.New("the pickle leaves places of its memo free, as torch.save does not")
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	if at == m.noted {
		if at%memoBlock == 0 {
			if err := m.left.take(4096 + 512); err != nil {
				return err
			}
			m.memo = append(m.memo, make([]any, memoBlock))
		}
		m.noted++
	}
	m.memo[at/memoBlock][at%memoBlock] = v
	return nil
}

// name pushes a function or class that torch.save writes, and refuses any other.
func (m *unpickler) name(code byte) error {
	var module, name string
	if code == 'c' {
		for _, to := range []*string{&module, &name} {
			start := m.at
			for m.at < len(m.text) && m.text[m.at] != '\n' {
				m.at++
			}
			if m.at == len(m.text) {
				return errPickleShort
			}
			*to = m.text[start:m.at]
			m.at++
		}
	} else {
		n, err := m.pop()
		if err != nil {
			return err
		}
		of, err := m.pop()
		if err != nil {
			return err
		}
		var texts [2]bool
		module, texts[0] = of.(string)
		name, texts[1] = n.(string)
		if !texts[0] || !texts[1] {
			return errPickleKind
		}
	}
	if !utf8.ValidString(module) || !utf8.ValidString(name) || len(module)+len(name) > 200 {
		return errors.New("the pickle names a function that no module has")
	}
	g := global(module + " " + name)
	if !g.known() {
		return &globalError{module, name}
	}
	return m.push(g, int64(32+len(g)))
}

// persistent pushes the storage that a tuple names: ("storage", class, key, device, count).
func (m *unpickler) persistent() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	t, ok := v.(tuple)
	if !ok || len(t) < 5 || t[0] != "storage" {
		return errors.New("the pickle refers to something else than a storage")
	}
	class, _ := t[1].(global)
	module, name, _ := cutGlobal(class)
	key, isText := t[2].(string)
	count, isNumber := t[4].(int64)
	if _, stores := storageSizes[name]; module != "torch" || !stores || !isText || !isNumber || count < 0 {
		return errors.New("the pickle refers to a storage in a way that torch.save does not")
	}
	return m.push(&storage{name, key, count}, 64)
}

// reduce replaces a global and its arguments by what torch.save means by them.
func (m *unpickler) reduce() error {
	a, err := m.pop()
	if err != nil {
		return err
	}
	f, err := m.pop()
	if err != nil {
		return err
	}
	g, isGlobal := f.(global)
	arguments, isTuple := a.(tuple)
	if !isGlobal || !isTuple {
		return errPickleKind
	}
	switch g {
	case orderedDict:
		if len(arguments) == 0 {
			return m.push(&dict{}, 64)
		}
	case size:
		if t, ok := first(arguments).(tuple); ok {
			return m.push(t, 24)
		}
	case rebuild, rebuildV2:
		return m.tensor(arguments)
	case rebuildParam, rebuildState:
		if v, ok := first(arguments).(*view); ok {
			return m.push(v, 0)
		}
	default:
		if slices.Contains(passedOver, g) {
			return m.push(opaque{}, 0)
		}
	}
	return fmt.Errorf("the pickle calls %s in a way that torch.save does not", g)
}

func first(t tuple) any {
	if len(t) == 0 {
		return nil
	}
	return t[0]
}

// tensor pushes a view of a storage: (storage, offset, shape, strides, …).
func (m *unpickler) tensor(a tuple) error {
	if len(a) < 4 {
		return errPickleKind
	}
	of, isStorage := a[0].(*storage)
	offset, isNumber := a[1].(int64)
	shape, known := integers(a[2])
	strides, alsoKnown := integers(a[3])
	if !isStorage || !isNumber || !known || !alsoKnown || len(shape) != len(strides) || len(shape) > 16 {
		return errPickleKind
	}
	return m.push(&view{of, offset, shape, strides}, 96+16*int64(len(shape)))
}

// integers returns the numbers of a tuple.
func integers(v any) ([]int64, bool) {
	t, ok := v.(tuple)
	all := make([]int64, 0, min(len(t), 16))
	for _, of := range t {
		n, isNumber := of.(int64)
		if !isNumber || len(all) == cap(all) {
			return nil, false
		}
		all = append(all, n)
	}
	return all, ok
}

// build takes the attributes of an object, which have no meaning here.
func (m *unpickler) build() error {
	if _, err := m.pop(); err != nil {
		return err
	}
	v, err := m.top()
	if _, ok := v.(*dict); err == nil && !ok {
		return errPickleKind
	}
	return err
}

// container carries out the instructions that make and fill containers.
func (m *unpickler) container(code byte) error {
	switch code {
	case ']':
		return m.push(&list{}, 32)
	case ')':
		return m.push(tuple(nil), 24)
	case '}':
		return m.push(&dict{}, 64)
	case 0x8f:
		return m.push(&list{}, 32)
	case 0x85, 0x86, 0x87:
		n := int(code) - 0x84
		if len(m.stack)-m.floor() < n {
			return errPickleStack
		}
		return m.tupled(m.cut(len(m.stack) - n))
	case 'a', 's':
		n := 1
		if code == 's' {
			n = 2
		}
		if len(m.stack)-m.floor() < n+1 {
			return errPickleStack
		}
		return m.fill(m.cut(len(m.stack) - n))
	}
	items, err := m.marked()
	if err != nil {
		return err
	}
	switch code {
	case 't', 0x91:
		return m.tupled(items)
	case 'l', 'd':
		var made any = &list{}
		if code == 'd' {
			made = &dict{}
		}
		items = slices.Clone(items)
		if err := m.left.take(16 * int64(len(items))); err != nil {
			return err
		}
		if err := m.push(made, 64); err != nil {
			return err
		}
		return m.fill(items)
	}
	return m.fill(items)
}

// tupled pushes a tuple of the items.
func (m *unpickler) tupled(items []any) error {
	if err := m.left.take(16 * int64(len(items))); err != nil {
		return err
	}
	return m.push(tuple(slices.Clone(items)), 24)
}

// fill appends items to the container on top of the stack.
func (m *unpickler) fill(items []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	switch to := v.(type) {
	case *list:
		return m.extend(&to.items, items, 1, 0)
	case *dict:
		if len(items)%2 != 0 {
			return errPickleKind
		}
		if err := m.extend(&to.keys, items, 2, 0); err != nil {
			return err
		}
		return m.extend(&to.values, items, 2, 1)
	}
	return errPickleKind
}

// extend appends every step-th of the items, from the one at first on.
func (m *unpickler) extend(to *[]any, items []any, step, first int) error {
	want := len(*to) + len(items)/step
	if want > cap(*to) {
		want = max(want, 2*cap(*to))
		if err := m.left.take(16 * int64(want)); err != nil {
			return err
		}
		*to = append(make([]any, 0, want), *to...)
	}
	for i := first; i < len(items); i += step {
		*to = append(*to, items[i])
	}
	return nil
}

// byte and take read from the pickle.
func (m *unpickler) byte() (byte, error) {
	if m.at == len(m.text) {
		return 0, errPickleShort
	}
	m.at++
	return m.text[m.at-1], nil
}

func (m *unpickler) take(n int) (string, error) {
	if n > len(m.text)-m.at {
		return "", errPickleShort
	}
	m.at += n
	return m.text[m.at-n : m.at], nil
}

// floor is the place on the stack below which the newest mark allows nothing to be taken.
func (m *unpickler) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

// push puts a value on the stack, which takes the given number of bytes.
func (m *unpickler) push(v any, bytes int64) error {
	if err := m.left.take(bytes); err != nil {
		return err
	}
	if err := m.grew(len(m.stack), cap(m.stack), 16); err != nil {
		return err
	}
	m.stack = append(m.stack, v)
	return nil
}

// grew accounts for the growth of a slice that is about to be appended to.
func (m *unpickler) grew(length, capacity int, bytes int64) error {
	if length < capacity {
		return nil
	}
	return m.left.take(bytes * int64(2*capacity+8))
}

func (m *unpickler) top() (any, error) {
	if len(m.stack) <= m.floor() {
		return nil, errPickleStack
	}
	return m.stack[len(m.stack)-1], nil
}

func (m *unpickler) pop() (any, error) {
	v, err := m.top()
	if err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, err
}

// cut removes the values from a place of the stack on, which stay valid until the next push.
func (m *unpickler) cut(from int) []any {
	items := m.stack[from:]
	m.stack = m.stack[:from]
	return items
}

// marked removes the values above the newest mark.
func (m *unpickler) marked() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errPickleStack
	}
	from := m.floor()
	m.marks = m.marks[:len(m.marks)-1]
	return m.cut(from), nil
}

package ptx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parser reads tokens. Its methods report errors by failing with a parseError, which Parse recovers.
type parser struct {
	tokens []token
	at     int
	module *Module
	global *scope
}

// parseError is an error at a line.
type parseError struct {
	line int
	text string
}

func (e parseError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// ErrSyntax wraps every error of Parse.
var ErrSyntax = errors.New("PTX")

// Parse reads PTX text, up to a NUL byte if there is one.
func Parse(text []byte) (m *Module, err error) {
	tokens, err := lex(string(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	p := &parser{tokens: tokens, module: &Module{Kernels: map[string]*Kernel{}},
		global: &scope{names: map[string]symbol{}}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(parseError)
			if !ok {
				panic(r)
			}
			m, err = nil, fmt.Errorf("%w: %w", ErrSyntax, e)
		}
	}()
	for p.peek().kind != endOfText {
		p.topLevel()
	}
	if p.module.Version == 0 || p.module.Target == 0 {
		p.fail("the text has no .version or no .target")
	}
	return p.module, nil
}

func (p *parser) fail(format string, args ...any) {
	panic(parseError{p.peek().line, fmt.Sprintf(format, args...)})
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endOfText {
		p.at++
	}
	return t
}

// accept skips a token with that text and reports whether it was there.
func (p *parser) accept(text string) bool {
	if t := p.peek(); t.text == text && t.kind != quotedText && t.kind != endOfText {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("expected %q, found %q", text, p.peek().text)
	}
}

func (p *parser) word() string {
	t := p.peek()
	if t.kind != word {
		p.fail("expected a name, found %q", t.text)
	}
	return p.next().text
}

// integer reads a whole number with an optional sign.
func (p *parser) integer() int64 {
	negative := p.accept("-")
	t := p.peek()
	if t.kind != number {
		p.fail("expected a number, found %q", t.text)
	}
	o := p.number()
	if o.kind != integerOperand {
		p.fail("expected a whole number, found %q", t.text)
	}
	if negative {
		return -int64(o.value)
	}
	return int64(o.value)
}

// size reads a size between 0 and 2^30.
func (p *parser) size() int {
	n := p.integer()
	if n < 0 || n > 1<<30 {
		p.fail("size %d out of range", n)
	}
	return int(n)
}

// number reads a number without a sign.
func (p *parser) number() operand {
	t := p.next()
	text := t.text
	if len(text) > 2 {
		switch text[:2] {
		case "0f", "0F":
			v, err := strconv.ParseUint(text[2:], 16, 32)
			if err != nil {
				p.fail("number %q", text)
			}
			return operand{kind: float32Operand, value: v}
		case "0d", "0D":
			v, err := strconv.ParseUint(text[2:], 16, 64)
			if err != nil {
				p.fail("number %q", text)
			}
			return operand{kind: float64Operand, value: v}
		}
	}
	v, err := strconv.ParseUint(strings.TrimRight(text, "uU"), 0, 64)
	if err != nil {
		p.fail("number %q", text)
	}
	return operand{kind: integerOperand, value: v}
}

// skipLine skips the tokens of the current line.
func (p *parser) skipLine() {
	for line := p.peek().line; p.peek().kind != endOfText && p.peek().line == line; {
		p.next()
	}
}

// topLevel reads a directive outside of functions.
func (p *parser) topLevel() {
	switch d := p.word(); d {
	case ".version":
		text := p.next().text
		major, minor, ok := strings.Cut(text, ".")
		a, err1 := strconv.Atoi(major)
		b, err2 := strconv.Atoi(minor)
		if !ok || err1 != nil || err2 != nil {
			p.fail("version %q", text)
		}
		p.module.Version = 10*a + b
	case ".target":
		text := strings.TrimRight(strings.TrimPrefix(p.word(), "sm_"), "af")
		v, err := strconv.Atoi(text)
		if err != nil {
			p.fail("target %q", text)
		}
		p.module.Target = v
		for p.accept(",") {
			p.word()
		}
	case ".address_size":
		if n := p.integer(); n != 64 {
			p.fail("address size %d is not supported", n)
		}
	case ".visible", ".extern", ".weak", ".common", ".internal":
	case ".file", ".loc":
		p.at--
		p.skipLine()
	case ".global", ".const":
		p.variable(d == ".const")
	case ".shared":
		p.sharedVariable(p.global, nil)
	case ".entry":
		p.entry()
	case ".func":
		p.fail("functions are not supported: inline them")
	default:
		p.fail("unexpected %q", d)
	}
}

// declaration is a variable in memory.
type declaration struct {
	name     string
	align    int
	element  dtype
	elements int // −1 for [] without a number
}

func (d declaration) bytes() int { return d.element.size * max(d.elements, 0) }

// declare reads what follows the space of a variable: alignment, type, name and dimensions.
func (p *parser) declare() declaration {
	d := declaration{elements: 1}
	vector := 1
	for {
		switch w := p.word(); w {
		case ".align":
			if d.align = p.size(); d.align&(d.align-1) != 0 {
				p.fail("alignment %d", d.align)
			}
			continue
		case ".v2":
			vector = 2
			continue
		case ".v4":
			vector = 4
			continue
		case ".ptr", ".global", ".const", ".shared", ".local":
			continue
		default:
			var ok bool
			if d.element, ok = dtypes[strings.TrimPrefix(w, ".")]; ok && w[0] == '.' && d.element.size > 0 {
				for p.peek().text == ".ptr" || p.peek().text == ".global" {
					p.next()
				}
				if p.accept(".align") {
					p.size()
				}
				break
			}
			p.fail("unexpected %q in a declaration", w)
		}
		break
	}
	d.name = p.word()
	if d.align == 0 {
		d.align = d.element.size * vector
	}
	d.elements = vector
	for p.accept("[") {
		if p.accept("]") {
			d.elements = -1
			break
		}
		n := p.size()
		if n > 0 && d.elements > 1<<30/n {
			p.fail("variable %s is too large", d.name)
		}
		d.elements *= n
		p.expect("]")
	}
	if d.elements*d.element.size > 1<<30 {
		p.fail("variable %s is too large", d.name)
	}
	return d
}

// variable reads a variable in global or constant memory with its initial value.
func (p *parser) variable(constant bool) {
	d := p.declare()
	if d.elements < 0 {
		p.fail("variable %s without a size", d.name)
	}
	v := &Variable{Name: d.name, Align: d.align, Data: make([]byte, d.bytes()), Constant: constant}
	if p.accept("=") {
		at := 0
		p.initialiser(d, v.Data, &at)
	}
	p.expect(";")
	if _, ok := p.global.names[d.name]; ok {
		p.fail("%s is declared twice", d.name)
	}
	p.global.names[d.name] = symbol{kind: inGlobal, size: len(v.Data)}
	p.module.Variables = append(p.module.Variables, v)
}

// initialiser reads a number or a list of initialisers into data from *at on.
func (p *parser) initialiser(d declaration, data []byte, at *int) {
	if p.accept("{") {
		for !p.accept("}") {
			p.initialiser(d, data, at)
			if !p.accept(",") {
				p.expect("}")
				return
			}
		}
		return
	}
	negative := p.accept("-")
	if p.peek().kind != number {
		p.fail("initial value %q of %s is not supported", p.peek().text, d.name)
	}
	v := p.number().value
	if negative {
		v = -v
	}
	if *at+d.element.size > len(data) {
		p.fail("%s has more initial values than elements", d.name)
	}
	for i := range d.element.size {
		data[*at+i] = byte(v >> (8 * i))
	}
	*at += d.element.size
}

// sharedVariable reads a variable in shared memory: of a kernel, or of the module if f is nil.
func (p *parser) sharedVariable(s *scope, f *assembly) {
	d := p.declare()
	p.expect(";")
	if d.elements < 0 {
		s.names[d.name] = symbol{kind: inDynamicShared}
		return
	}
	s.names[d.name] = symbol{kind: inShared, value: -1, size: d.bytes(), align: d.align}
	if f != nil {
		s.names[d.name] = f.share(s.names[d.name])
	}
}

// align rounds up to a multiple of a, a power of two.
func align(n, a int) int {
	if a <= 1 {
		return n
	}
	return (n + a - 1) &^ (a - 1)
}

// entry reads a kernel.
func (p *parser) entry() {
	k := &Kernel{Name: p.word()}
	f := &assembly{kernel: k, constants: map[constant]register{}, shared: map[string]symbol{},
		specials: map[string]register{}}
	s := &scope{outer: p.global, names: map[string]symbol{}}
	if p.accept("(") && !p.accept(")") {
		for {
			p.expect(".param")
			d := p.declare()
			k.ParamBytes = align(k.ParamBytes, d.align)
			s.names[d.name] = symbol{kind: inParam, value: int64(k.ParamBytes), size: d.bytes()}
			k.ParamBytes += d.bytes()
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	}
	for p.peek().text != "{" {
		switch d := p.word(); d {
		case ".maxntid", ".reqntid":
			k.MaxThreads = p.size()
			for p.accept(",") {
				k.MaxThreads *= min(p.size(), 1024)
			}
		case ".minnctapersm":
			k.MinBlocks = p.size()
		case ".maxnreg":
			p.size()
		case ".noreturn":
		default:
			p.fail("unexpected %q", d)
		}
	}
	if _, ok := p.module.Kernels[k.Name]; ok {
		p.fail("kernel %s is defined twice", k.Name)
	}
	p.expect("{")
	p.body(f, s)
	f.finish()
	p.module.Kernels[k.Name] = k
}

// body reads statements up to the closing brace.
func (p *parser) body(f *assembly, s *scope) {
	for {
		t := p.peek()
		switch {
		case p.accept("}"):
			return
		case p.accept("{"):
			p.body(f, &scope{outer: s, names: map[string]symbol{}})
		case p.accept(";"):
		case t.kind == sign && t.text == "@":
			p.instruction(f, s)
		case t.kind != word:
			p.fail("unexpected %q", t.text)
		case t.text[0] == '.':
			p.directive(f, s)
		case p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == ":":
			if _, ok := s.names[t.text]; ok {
				p.fail("label %s is defined twice", t.text)
			}
			s.names[t.text] = symbol{kind: atLabel, value: int64(len(f.instructions))}
			p.at += 2
		default:
			p.instruction(f, s)
		}
	}
}

// directive reads a directive inside a kernel.
func (p *parser) directive(f *assembly, s *scope) {
	switch d := p.word(); d {
	case ".reg":
		p.registers(f, s)
	case ".shared":
		p.sharedVariable(s, f)
	case ".extern":
		p.expect(".shared")
		p.sharedVariable(s, f)
	case ".local":
		v := p.declare()
		p.expect(";")
		f.kernel.LocalBytes = align(f.kernel.LocalBytes, max(v.align, 1))
		s.names[v.name] = symbol{kind: inLocal, value: int64(f.kernel.LocalBytes), size: v.bytes()}
		if f.kernel.LocalBytes += v.bytes(); f.kernel.LocalBytes > 1<<20 {
			p.fail("more than 1 MiB of local memory")
		}
	case ".pragma":
		for !p.accept(";") {
			if p.next().kind == endOfText {
				p.fail("unexpected end of text")
			}
		}
	case ".loc", ".file":
		p.at--
		p.skipLine()
	default:
		p.fail("directive %s is not supported", d)
	}
}

// maxRegisters bounds the registers of a kernel, so that text cannot ask for any amount of memory.
const maxRegisters = 1 << 16

// registers reads names of registers: %r<10> or a list.
func (p *parser) registers(f *assembly, s *scope) {
	w := p.word()
	t, ok := dtypes[strings.TrimPrefix(w, ".")]
	if !ok || w[0] != '.' {
		p.fail("unexpected type %q of registers", w)
	}
	b := t.bank()
	for {
		name := p.word()
		if p.accept("<") {
			n := p.size()
			p.expect(">")
			if n > maxRegisters {
				p.fail("%d registers", n)
			}
			for i := range n {
				s.names[name+strconv.Itoa(i)] = symbol{kind: inRegister, register: f.fresh(b)}
			}
		} else {
			s.names[name] = symbol{kind: inRegister, register: f.fresh(b)}
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(";")
}

// instruction reads an instruction with its guard.
func (p *parser) instruction(f *assembly, s *scope) {
	in := instruction{scope: s, line: p.peek().line}
	if p.accept("@") {
		in.guarded = true
		in.negated = p.accept("!")
		o := p.operand(s)
		if o.kind != registerOperand || o.reg.bank != predicate {
			p.fail("the guard is not a predicate")
		}
		in.guard = o.reg
	}
	in.line = p.peek().line
	in.opcode = strings.Split(p.word(), ".")
	for !p.accept(";") {
		in.args = append(in.args, p.operand(s))
		if p.peek().text != ";" {
			p.expect(",")
		}
	}
	f.instructions = append(f.instructions, in)
}

// operand reads an operand.
func (p *parser) operand(s *scope) operand {
	switch {
	case p.accept("{"):
		o := operand{kind: vectorOperand}
		for {
			e := p.operand(s)
			if e.kind == vectorOperand || e.kind == addressOperand || e.kind == pairOperand {
				p.fail("nested vector")
			}
			o.list = append(o.list, e)
			if !p.accept(",") {
				break
			}
		}
		p.expect("}")
		return o
	case p.accept("["):
		o := operand{kind: addressOperand}
		base := p.operand(s)
		switch base.kind {
		case integerOperand:
			o.value = base.value
		case registerOperand, symbolOperand:
			o.list = []operand{base}
		default:
			p.fail("unexpected address")
		}
		if p.accept("+") {
			o.value += uint64(p.integer())
		} else if p.peek().text == "-" {
			o.value += uint64(p.integer())
		}
		p.expect("]")
		return o
	case p.accept("!"):
		o := p.operand(s)
		if o.kind != registerOperand || o.reg.bank != predicate {
			p.fail("! before what is not a predicate")
		}
		o.negate = !o.negate
		return o
	case p.accept("-"):
		if p.peek().kind != number {
			p.fail("expected a number, found %q", p.peek().text)
		}
		o := p.number()
		if o.kind != integerOperand {
			p.fail("- before a float")
		}
		o.value = -o.value
		return o
	}
	t := p.peek()
	if t.kind == number {
		return p.number()
	}
	name := p.word()
	var o operand
	switch x, ok := s.find(name); {
	case name == "_":
		o = operand{kind: sinkOperand}
	case ok && x.kind == inRegister:
		o = operand{kind: registerOperand, reg: x.register}
	case !ok && name[0] == '%':
		if !isSpecial(name) {
			p.fail("unknown register %s", name)
		}
		o = operand{kind: specialOperand, name: name}
	default:
		o = operand{kind: symbolOperand, name: name}
		if p.accept("+") {
			o.value = uint64(p.integer())
		}
	}
	if p.accept("|") {
		second := p.operand(s)
		return operand{kind: pairOperand, list: []operand{o, second}}
	}
	return o
}

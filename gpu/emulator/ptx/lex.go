package ptx

import (
	"fmt"
	"strings"
)

// A token is a word, a number, a string or a sign of the text.
type token struct {
	kind tokenKind
	text string
	line int
}

type tokenKind uint8

const (
	endOfText  tokenKind = iota
	word                 // .reg, ld.global.nc.f32, %r1, $L__BB0_1
	number               // 12, 0x1F, 0f3F800000
	quotedText           // without its quotes
	sign                 // one of ,;:(){}[]@!|+-=<>
)

// lex splits text into tokens; comments are dropped. A NUL byte ends the text.
func lex(text string) ([]token, error) {
	var tokens []token
	line := 1
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == 0:
			i = len(text)
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(text[i:], "//"):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return nil, fmt.Errorf("line %d: comment without an end", line)
			}
			line += strings.Count(text[i:i+2+end], "\n")
			i += end + 4
		case c == '"':
			end := strings.IndexByte(text[i+1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("line %d: string without an end", line)
			}
			tokens = append(tokens, token{quotedText, text[i+1 : i+1+end], line})
			line += strings.Count(text[i+1:i+1+end], "\n")
			i += end + 2
		case c >= '0' && c <= '9':
			j := i
			for j < len(text) && (isWord(text[j]) && text[j] != '%' && text[j] != '$') {
				j++
			}
			tokens = append(tokens, token{number, text[i:j], line})
			i = j
		case isWord(c):
			j := i
			for j < len(text) && (isWord(text[j]) || strings.HasPrefix(text[j:], "::")) {
				if text[j] == ':' {
					j++
				}
				j++
			}
			tokens = append(tokens, token{word, text[i:j], line})
			i = j
		case strings.IndexByte(",;:(){}[]@!|+-=<>", c) >= 0:
			tokens = append(tokens, token{sign, text[i : i+1], line})
			i++
		default:
			return nil, fmt.Errorf("line %d: unexpected character %q", line, c)
		}
	}
	return append(tokens, token{endOfText, "end of text", line}), nil
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' ||
		c == '%' || c == '.'
}

package terminal

import "strings"

// This file decides from the environment which characters a terminal shows.

// Locale returns the variable that determines the character set, by POSIX's precedence, and whether that is UTF-8.
func Locale(environ []string) (setting string, utf8 bool) {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := variable(environ, name); value != "" {
			normal := strings.ReplaceAll(strings.ToLower(value), "-", "")
			return name + "=" + value, strings.Contains(normal, "utf8")
		}
	}
	return "none set", false
}

// Plain returns why a terminal is drawn with 7-bit characters, "" if it is not. Where no locale is set, as in many
// containers and over many connections, the terminal is taken for one of UTF-8.
func Plain(environ []string) (why string) {
	setting, utf8 := Locale(environ)
	switch {
	case !utf8 && strings.Contains(setting, "="):
		return "the locale is not UTF-8 (" + setting + ")"
	case variable(environ, "TERM") == "linux":
		return "the console's font has neither braille nor all blocks (TERM=linux)"
	}
	return ""
}

// variable returns the value of a variable, of which the last one counts.
func variable(environ []string, name string) (value string) {
	for _, entry := range environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

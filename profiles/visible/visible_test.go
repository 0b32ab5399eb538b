package visible

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"moon-2.png":           "moon-2.png",
		"étoile – 月 ½.png":     "étoile – 月 ½.png",
		"e\u0301toile":         "e\u0301toile", // a combining mark
		"\x1b]0;owned\x07.png": `\x1b]0;owned\a.png`,
		"a\nb\rc\td":           `a\nb\rc\td`,
		"\u009b2J":             `\u009b2J`,
		"\x9b2J":               `\x9b2J`, // a C1 control of eight bits
		"gpj.\u202egnp":        `gpj.\u202egnp`,
		"\u2066a\u2069 \u200f": `\u2066a\u2069 \u200f`,
		"\u2028":               `\u2028`,
		"\x7f\x00":             `\x7f\x00`,
		"\ufffd":               `�`,
		`C:\new "quoted"`:      `C:\new "quoted"`,
		"no-break\u00a0space":  "no-break\u00a0space",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLinesKeepsLineFeeds(t *testing.T) {
	if got, want := Lines("a\x1b[2J\nb\r\n"), "a\\x1b[2J\nb\\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Lines("a\nb\n"); got != "a\nb\n" {
		t.Errorf("got %q", got)
	}
}

func TestJSONSaysTheSame(t *testing.T) {
	const text = "a\u009b\u202e\U000e0001\x7f\n<\ufffd\xff>"
	document, err := json.MarshalIndent(map[string]string{"file": text}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	safe := JSON(document)
	if want := "{\n\t\"file\": \"a\\u009b\\u202e\\udb40\\udc01\\u007f\\n\\u003c\\ufffd\\ufffd\\u003e\"\n}"; string(safe) != want {
		t.Errorf("got %q, want %q", safe, want)
	}
	var before, after map[string]string
	if err := errors.Join(json.Unmarshal(document, &before), json.Unmarshal(safe, &after)); err != nil || before["file"] != after["file"] {
		t.Errorf("%q became %q (%v)", before, after, err)
	}
	if plain := []byte("{\"a\": \"é\"}\n"); string(JSON(plain)) != string(plain) {
		t.Errorf("got %q", JSON(plain))
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31m\u202eb\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is no UTF-8", got)
		}
		for _, r := range got {
			if hidden(r) && r != utf8.RuneError {
				t.Fatalf("Text(%q) = %q has %q", s, got, r)
			}
		}
		if again := Text(got); again != got {
			t.Fatalf("%q changes again to %q", got, again)
		}
	})
}

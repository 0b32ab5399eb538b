package schematest

import (
	"strings"
	"testing"
)

// What a schema does not allow is found: a schema that allows everything would pass every document.
func TestValidateFindsWhatIsWrong(t *testing.T) {
	const whole = `{"schema":1,"folder":"a","runs":[{"path":"b","bytes":1,"began":"2026-11-22T12:00:00Z","state":"ended","starts":1,"iterations":3,
		"seconds":1.5,"iteration_ms_median":null,"quality":2,"dropped_records":0}]}`
	if err := Validate("runs", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another version": {`"schema":1`, `"schema":2`}, "a lacking field": {`"bytes":1,`, ``}, "an unknown field": {`"bytes":1,`, `"bytes":1,"more":1,`},
		"another type": {`"seconds":1.5`, `"seconds":"1.5"`}, "null": {`"path":"b"`, `"path":null`}, "an unknown state": {`"ended"`, `"over"`},
		"two values": {`]}`, `]} 1`}, "a fraction": {`"iterations":3`, `"iterations":3.5`}, "no time": {`2026-11-22T12:00:00Z`, `yesterday`},
	} {
		if err := Validate("runs", []byte(strings.Replace(whole, change[0], change[1], 1))); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := Validate("absent", []byte(whole)); err == nil {
		t.Error("a schema that is not there is taken")
	}
}

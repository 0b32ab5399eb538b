package preset

import "prismtop/profiles/settings"

// LargestFile bounds a settings file, in bytes.
const LargestFile = largestFile

// Apply applies the values of a document, which may also contain the texts.
func Apply(v settings.Values, data []byte, texts ...string) (settings.Values, error) {
	d, err := decode(data)
	if err == nil {
		err = d.bind(v.Table(), texts...)
	}
	if err != nil {
		return v, err
	}
	return d.apply(v, settings.Origins{}, "file")
}

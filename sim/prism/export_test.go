package prism

// QuickPass is how far passes lie apart before an output is kept.
const QuickPass = quickPass

// CountedBatches reports whether a name of a state_dict is ignored.
var CountedBatches = countedBatches

// Variables lists the names in the model of the arrays of StateDict.
func (d *Decoder) Variables() (names []string) {
	for _, n := range d.stateNames() {
		names = append(names, n.variable)
	}
	return names
}

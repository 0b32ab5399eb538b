package settings

import (
	"fmt"
	"slices"
)

// Roles name the settings of a workload that others treat in a way of their own, such as a screen. All are optional.
type Roles struct {
	// Rate is a learning rate: a screen multiplies it, and shows the series of its name, which a schedule may have
	// lowered.
	Rate string `json:"rate,omitempty"`
	// Precision is the arithmetic of the computation, a text; "off" is float32.
	Precision string `json:"precision,omitempty"`
	// Unit are integers whose product is the number of iterations of a unit at most, and Before of those before the
	// first unit.
	Unit   []string `json:"unit,omitempty"`
	Before []string `json:"before,omitempty"`
	// Shape are the settings that fix the size of the work, of which a measurement of time is: "512/128".
	Shape []string `json:"shape,omitempty"`
	// Objective are the settings that decide what the losses measure: those before a change are not comparable.
	Objective []string `json:"objective,omitempty"`
	// Weights are numbers that sum to 1: a change of one changes the others in proportion. WeightsName names them on
	// the screen. They count while the setting WeightsOf has the value WeightsIn.
	Weights     []string `json:"weights,omitempty"`
	WeightsName string   `json:"weights_name,omitempty"`
	WeightsOf   string   `json:"weights_of,omitempty"`
	WeightsIn   string   `json:"weights_in,omitempty"`
}

// As returns the table with roles for some of its settings. It panics on a setting that the table lacks, which is a
// programming error.
func (t *Table) As(r Roles) *Table {
	with := *t
	with.roles = r
	if err := with.checkRoles(); err != nil {
		panic("settings of " + t.Workload + ": " + err.Error())
	}
	return &with
}

// Roles returns the roles of the table's settings; none for a nil table.
func (t *Table) Roles() Roles {
	if t == nil {
		return Roles{}
	}
	return t.roles
}

// checkRoles returns why the roles do not fit the table.
func (t *Table) checkRoles() error {
	r := &t.roles
	check := func(role string, names []string, types ...Type) error {
		for _, name := range names {
			k, known := t.Lookup(name)
			if name != "" && (!known || !slices.Contains(types, k.Type)) {
				return fmt.Errorf("the role %s of the setting %q: must be one of the table, of the type %s", role,
					name, typeWords[types[0]])
			}
		}
		return nil
	}
	if len(r.Weights) == 1 {
		return fmt.Errorf("the role weights of the setting %q alone: must be two settings or more", r.Weights[0])
	}
	for _, err := range []error{
		check("rate", []string{r.Rate}, TypeNumber), check("precision", []string{r.Precision}, TypeText),
		check("unit", r.Unit, TypeInteger), check("before", r.Before, TypeInteger),
		check("shape", r.Shape, TypeInteger, TypeNumber, TypeText), check("weights", r.Weights, TypeNumber),
		check("objective", r.Objective, TypeText, TypeSwitch, TypeInteger, TypeNumber, TypeList),
		check("weights_of", []string{r.WeightsOf}, TypeText, TypeSwitch),
		CheckText("the name of the weights", r.WeightsName, LongestName),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// Shape returns the values of the settings that fix the size of the work, in the order of their role; none without.
func (v Values) Shape() (values []string) {
	for _, name := range v.Table().Roles().Shape {
		values = append(values, v.Get(name))
	}
	return values
}

// Product returns the product of integers by their names; 0 for none.
func (v Values) Product(names []string) int64 {
	if len(names) == 0 {
		return 0
	}
	product := int64(1)
	for _, name := range names {
		product *= int64(v.Int(name))
	}
	return product
}

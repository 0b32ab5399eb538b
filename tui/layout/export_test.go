package layout

// Order is the panes that are wanted, in the order in which they are kept.
func (a *Arrangement) Order(c Choice) []Pane { return a.order(c) }

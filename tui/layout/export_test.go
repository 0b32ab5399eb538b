package layout

// Order returns the wanted panes in order of priority.
func (a *Arrangement) Order(c Choice) []Pane { return a.order(c, &c.Show) }

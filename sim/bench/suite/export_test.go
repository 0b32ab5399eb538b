package suite

// Figures returns every figure of the documents, in their order.
func Figures() []Figure {
	figures, _ := registry()
	return figures
}

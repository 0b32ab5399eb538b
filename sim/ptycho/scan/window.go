package scan

// Window returns the bilinear values of an object on a square of side×side pixels whose
// first pixel is at a row and a column, 0 outside the object.
func (o *Object) Window(row, column float64, side int) []complex64 {
	values := make([]complex64, side*side)
	for i := range values {
		values[i] = complex64(o.sample(row+float64(i/side), column+float64(i%side)))
	}
	return values
}

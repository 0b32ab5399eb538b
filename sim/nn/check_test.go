package nn_test

import (
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// array is an operand; its values do not matter.
func array(d tensor.DType, shape ...int) nntest.Array {
	return nntest.Array{Shape: shape, DType: d}
}

func TestOperandsThatDoNotFitAreRefused(t *testing.T) {
	image := array(tensor.Float32, 1, 3, 8, 8)
	w := array(tensor.Float32, 4, 3, 3, 3)
	plane := array(tensor.Float32, 5, 40)
	z := array(tensor.Complex64, 8, 8)
	cube := array(tensor.Float32, 1, 8, 8, 8, 3)
	result := func(shape ...int) []nntest.Result { return []nntest.Result{{Shape: shape}} }
	norms := []nntest.Result{{Shape: cube.Shape}, {Shape: tensor.Shape{1, 3}}, {Shape: tensor.Shape{1, 3}}}
	for name, c := range map[string]struct {
		op  nn.Op
		in  []nntest.Array
		out []nntest.Result
	}{
		"no operator":                  {nil, []nntest.Array{image}, result(1, 3, 8, 8)},
		"too few inputs":               {nn.Conv2D{Stride: 1, Pad: 1}, []nntest.Array{image}, result(1, 4, 8, 8)},
		"conv output of another size":  {nn.Conv2D{Stride: 1, Pad: 1}, []nntest.Array{image, w}, result(1, 4, 8, 9)},
		"conv without stride":          {nn.Conv2D{Pad: 1}, []nntest.Array{image, w}, result(1, 4, 8, 8)},
		"conv with other channels":     {nn.Conv2D{Stride: 1, Pad: 1}, []nntest.Array{array(0, 1, 2, 8, 8), w}, result(1, 4, 8, 8)},
		"bias of another length":       {nn.Conv2D{Stride: 1, Pad: 1}, []nntest.Array{image, w, array(0, 3)}, result(1, 4, 8, 8)},
		"activation of another shape":  {nn.Activation{}, []nntest.Array{image}, result(1, 3, 8, 7)},
		"activation that is not there": {nn.Activation{Kind: 99}, []nntest.Array{image}, result(1, 3, 8, 8)},
		"activation of complex values": {nn.Activation{}, []nntest.Array{z}, result(8, 8)},
		"sum of real and complex":      {nn.Add{}, []nntest.Array{array(0, 8, 8), z}, result(8, 8)},
		"FFT from real to real":        {nn.FFT{}, []nntest.Array{plane}, result(5, 40)},
		"mask of another size":         {nn.MaskMultiply{}, []nntest.Array{z, plane}, []nntest.Result{{Shape: tensor.Shape{8, 8}, DType: tensor.Complex64}}},
		"SSIM of five rows": {nn.Loss{Kind: nn.SSIM}, []nntest.Array{plane, plane},
			[]nntest.Result{{Shape: tensor.Shape{}}, {Shape: tensor.Shape{nn.LossSaved(nn.SSIM, 5, 40)}}}},
		"MS-SSIM below its window": {nn.Loss{Kind: nn.MSSSIM}, []nntest.Array{plane, plane},
			[]nntest.Result{{Shape: tensor.Shape{}}, {Shape: tensor.Shape{nn.LossSaved(nn.MSSSIM, 5, 40)}}}},
		"Adam out of place": {nn.AdamStep{}, []nntest.Array{array(0)}, result()},
		"Adam of weights out of place": {nn.ConvAdam{Stride: 1, Pad: 1},
			[]nntest.Array{image, array(0, 1, 4, 8, 8), array(0), array(0), w, w, w},
			[]nntest.Result{{Shape: w.Shape}, {InPlace: true, Input: 5}, {InPlace: true, Input: 6}}},
		"Adam of weights under a scaler": {nn.ConvAdam{Stride: 1, Pad: 1, Update: nn.Adam{Scaler: true}},
			[]nntest.Array{image, array(0, 1, 4, 8, 8), array(0), array(0), w, w, w},
			[]nntest.Result{{InPlace: true, Input: 4}, {InPlace: true, Input: 5}, {InPlace: true, Input: 6}}},
		"Adam of weights with decay": {nn.ConvAdam{Stride: 1, Pad: 1, Update: nn.Adam{Decay: 1}},
			[]nntest.Array{image, array(0, 1, 4, 8, 8), array(0), array(0), w, w, w},
			[]nntest.Result{{InPlace: true, Input: 4}, {InPlace: true, Input: 5}, {InPlace: true, Input: 6}}},
		"conv of a volume without stride":    {nn.Conv3D{}, []nntest.Array{array(0, 4, 3, 3, 3, 3), cube}, result(1, 8, 8, 8, 4)},
		"conv of a volume of other channels": {nn.Conv3D{Stride: 1}, []nntest.Array{array(0, 4, 2, 3, 3, 3), cube}, result(1, 8, 8, 8, 4)},
		"conv of volumes of other sides":     {nn.Conv3D{Stride: 1}, []nntest.Array{array(0, 4, 6, 3, 3, 3), cube, array(0, 1, 8, 8, 7, 3)}, result(1, 8, 8, 8, 4)},
		"conv of a volume with an even side": {nn.Conv3D{Stride: 1}, []nntest.Array{array(0, 4, 3, 2, 2, 2), cube}, result(1, 8, 8, 8, 4)},
		"gradient of channels that no weight has": {nn.Conv3DGradInput{Stride: 1, First: 1},
			[]nntest.Array{array(0, 1, 8, 8, 8, 4), array(0, 4, 3, 3, 3, 3)}, result(1, 8, 8, 8, 3)},
		"enlarging by three with two":       {nn.ConvTranspose3D{}, []nntest.Array{cube, array(0, 3, 4, 2, 2, 2)}, result(1, 24, 24, 24, 4)},
		"instance norm of another count":    {nn.InstanceNorm{Eps: 1, Slope: 1}, []nntest.Array{cube, array(0, 3), array(0, 4)}, norms},
		"instance norm with an upward leak": {nn.InstanceNorm{Eps: 1, Slope: 2}, []nntest.Array{cube, array(0, 3), array(0, 3)}, norms},
		"Dice loss of another shape":        {nn.DiceBCE{Smooth: 1}, []nntest.Array{cube, image}, []nntest.Result{{Shape: tensor.Shape{2}}, {Shape: cube.Shape}, {Shape: tensor.Shape{1, 2}}}},
		"squared error of another shape":    {nn.SquaredError{}, []nntest.Array{cube, image}, result()},
		"Adam with dX where that is a pass by itself": {nn.ConvAdam{Stride: 1, Pad: 1, GradInput: true},
			[]nntest.Array{image, array(0, 1, 4, 8, 8), array(0), array(0), w, w, w},
			[]nntest.Result{{InPlace: true, Input: 4}, {InPlace: true, Input: 5}, {InPlace: true, Input: 6}, {Shape: image.Shape}}},
		"pooling of an odd side":    {nn.MaxPool{}, []nntest.Array{array(0, 1, 3, 7, 8)}, result(1, 3, 3, 4)},
		"upsampling by three":       {nn.Upsample{}, []nntest.Array{image}, result(1, 3, 24, 24)},
		"inset beyond the edge":     {nn.Inset{Top: 5}, []nntest.Array{image, array(0, 1, 3, 4, 4)}, result(1, 3, 8, 8)},
		"inset of other channels":   {nn.Inset{}, []nntest.Array{image, array(0, 1, 2, 4, 4)}, result(1, 3, 8, 8)},
		"split of too few channels": {nn.Split{Channels: 2}, []nntest.Array{image}, append(result(1, 2, 8, 8), result(1, 2, 8, 8)...)},
		"polar of complex values":   {nn.Polar{}, []nntest.Array{z, array(0, 8, 8)}, []nntest.Result{{Shape: z.Shape, DType: tensor.Complex64}}},
		"patches without offsets": {nn.SumPatches{},
			[]nntest.Array{array(tensor.Complex64, 1, 4, 8, 8), array(0, 1, 3, 2)},
			[]nntest.Result{{Shape: tensor.Shape{1, 1, 12, 12}, DType: tensor.Complex64}}},
		"patches of another centre": {nn.ExtractPatches{},
			[]nntest.Array{array(tensor.Complex64, 1, 1, 13, 13), array(0, 1, 4, 2)},
			[]nntest.Result{{Shape: tensor.Shape{1, 4, 8, 8}, DType: tensor.Complex64}}},
		"coverage beyond the canvas": {nn.DivideByCoverage{Support: 10, Epsilon: 1},
			[]nntest.Array{array(tensor.Complex64, 1, 1, 8, 8), array(0, 1, 4, 2)},
			[]nntest.Result{{Shape: tensor.Shape{1, 1, 8, 8}, DType: tensor.Complex64}}},
		"real probe":             {nn.ProbeMultiply{}, []nntest.Array{z, array(0, 8, 8)}, []nntest.Result{{Shape: z.Shape, DType: tensor.Complex64}}},
		"exponent per element":   {nn.ExpScale{}, []nntest.Array{image, image}, result(1, 3, 8, 8)},
		"Poisson loss of planes": {nn.PoissonLoss{Epsilon: 1}, []nntest.Array{image, plane}, result()},
		"concat of channels":     {nn.Concat{}, []nntest.Array{image, image}, result(1, 5, 8, 8)},
		"batch norm of another count": {nn.BatchNorm{}, []nntest.Array{image, array(0, 2), array(0, 3), array(0, 3),
			array(0, 3)},
			result(1, 3, 8, 8)},
	} {
		t.Run(name, func(t *testing.T) {
			err := nntest.OneStep(c.op, nn.Exact, c.in, c.out).Check()
			if err == nil {
				t.Fatal("fits")
			}
			t.Log(err)
		})
	}
}

//go:build !nogpu

package ptx

import _ "embed"

// archive has the files sm_*/*.ptx sorted by name, a member of gzip with its name for each.
//
//go:embed kernels.gz
var archive []byte

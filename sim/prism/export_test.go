package prism

// QuickPass is how far passes lie apart before an output is kept.
const QuickPass = quickPass

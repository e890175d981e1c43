package projection

// MaxReaders is for the tests, which use projectiontest and so stand outside of this package.
const MaxReaders = maxReaders

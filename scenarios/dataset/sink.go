package dataset

// Sink takes the rows of an archive. An error from it ends the reading.
type Sink interface {
	// Row takes a row of one of Tables, such as a *Bid.
	Row(at int64, row any) error
	// Bad takes a row that cannot be one, in the archive's own words, and why.
	Bad(at int64, text string, why error) error
	// Note takes how something about the whole archive was found out.
	Note(text string) error
}

// Origin is what a reader has to know of an archive beside its content.
type Origin struct {
	Network Network
	// Relay is the relay that the archive is of, if the archive itself does not say.
	Relay string
	// Instances name for instances of relays in a run the relay that they are of.
	Instances map[string]string
	// Delivered returns what the data set knows of the payload with a block hash, the values by which
	// it was delivered. It is nil if the data set has no deliveries.
	Delivered func(slot int64, block Hash) ([]Wei, error)
}

// Place is how the rows of a format are counted.
type Place string

// Lines are counted in text of lines, from 1 and with the header; rows in everything else, from 1.
const (
	Line Place = "line"
	Row  Place = "row"
)

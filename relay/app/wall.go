package app

import "time"

// wallNow is the time of the wall, which clients live by, also when the chain's clock runs faster.
func wallNow() time.Time { return time.Now() }

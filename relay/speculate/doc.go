// Package speculate works on a submission while the rest of its body is still on the way. In SSZ
// the blobs are most of a body and come last, so the message, the payload and the commitments are
// here up to a millisecond before the whole body.
//
//	what is here                 who may      what is begun            measured gain (docs/speed.md)
//	message, signature           anybody ¹    verify the signature     visible after 1.3 ms instead of 1.8,
//	                                                                   hashing at the end together with it
//	transactions, as they come   known ²      hash them                header signed after 0.1 ms instead of
//	                                                                   0.4 at 10 Gbit/s; none over loopback
//	payload, commitments         known ²      sign the relay's bid ³   header signed after 0.1 to 0.3 ms
//	                                                                   instead of 0.8 to 1.0, both together
//
// ¹ if the message breaks no cheap rule, and at most half of the processors verify. ² An API key,
// or a signature that was found right, says who the builder is. ³ if the bid would lead at once;
// one at a time.
//
// Nothing that is begun here can be seen from outside. When the pipeline (relay/submit) has the
// whole submission, it asks an Ahead for results, in the order in which it would compute them
// itself. Each result says what it was made from and is used only for that. So the answers are the
// same with and without this package. All waiting and locking of this kind is here: relay,
// relay/check and relay/wire get values.
package speculate

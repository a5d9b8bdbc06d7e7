package scenarios

// Reading the clock costs as much as a small message, so it is read once for so many of them.
const (
	clockEvery     = 32
	clockEachBytes = 4096 // messages from this size on are timed one by one
	clockEachCount = 4096 // and so are those of windows of so few messages
)

// timedEvery is for how many messages of a channel the clock is read once.
func timedEvery(p Params, share int64) int64 {
	if p.Rate > 0 || p.Payload >= clockEachBytes || p.Count > 0 && share <= clockEachCount {
		return 1
	}
	return clockEvery
}

// share is how many of the count's messages are those of that channel; 0 where the window is not one of a count.
func share(count int64, index, channels int) int64 {
	n := count / int64(channels)
	if int64(index) < count%int64(channels) {
		n++
	}
	return n
}

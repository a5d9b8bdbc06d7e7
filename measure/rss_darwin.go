package measure

// maxrssUnit is the unit of ru_maxrss in bytes.
const maxrssUnit = 1

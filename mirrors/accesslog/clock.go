package accesslog

import "time"

// digits reads s as a number of exactly its length.
func digits(s []byte) (int, bool) {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(s) > 0
}

// clock keeps the day that it worked out last: lines of a log are of the same.
type clock struct {
	year, month, day int
	unix             int64 // of its first second
}

// date is the first second of a day. It is false for one that there is not.
func (c *clock) date(year, month, day int) (int64, bool) {
	if c.year == year && c.month == month && c.day == day && day > 0 {
		return c.unix, true
	}
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	// What is further away does not fit into nanoseconds.
	if t.Day() != day || year < 1700 || year > 2200 {
		return 0, false
	}
	c.year, c.month, c.day, c.unix = year, month, day, t.Unix()
	return c.unix, true
}

func (c *clock) nanoseconds(year, month, day int, hms []byte, zone int64) (int64, bool) {
	if len(hms) != 8 || hms[2] != ':' || hms[5] != ':' {
		return 0, false
	}
	h, ok1 := digits(hms[:2])
	m, ok2 := digits(hms[3:5])
	s, ok3 := digits(hms[6:])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || s > 59 {
		return 0, false
	}
	unix, ok := c.date(year, month, day)
	return (unix + int64(h*3600+m*60+s) - zone) * int64(time.Second), ok
}

// zoneOf reads +hhmm.
func zoneOf(sign byte, hh, mm []byte) (int64, bool) {
	h, ok1 := digits(hh)
	m, ok2 := digits(mm)
	if !ok1 || !ok2 || h > 23 || m > 59 || sign != '+' && sign != '-' {
		return 0, false
	}
	zone := int64(h*3600 + m*60)
	if sign == '-' {
		zone = -zone
	}
	return zone, true
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

const commonLength = len("02/Jan/2006:15:04:05 -0700")

// common reads 02/Jan/2006:15:04:05 -0700.
func (c *clock) common(s []byte) (int64, bool) {
	if len(s) != commonLength || s[2] != '/' || s[6] != '/' || s[11] != ':' || s[20] != ' ' {
		return 0, false
	}
	day, ok1 := digits(s[:2])
	year, ok2 := digits(s[7:11])
	zone, ok3 := zoneOf(s[21], s[22:24], s[24:26])
	month := 0
	for i := 0; i < len(months); i += 3 {
		if months[i] == s[3] && months[i+1] == s[4] && months[i+2] == s[5] {
			month = i/3 + 1
		}
	}
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	return c.nanoseconds(year, month, day, s[12:20], zone)
}

// rfc3339 reads 2006-01-02T15:04:05.999999999Z and 2006-01-02T15:04:05+07:00.
func (c *clock) rfc3339(s []byte) (int64, bool) {
	const seconds = len("2006-01-02T15:04:05")
	if len(s) <= seconds || s[4] != '-' || s[7] != '-' || s[10] != 'T' {
		return 0, false
	}
	year, ok1 := digits(s[:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	rest := s[seconds:]
	fraction := int64(0)
	if rest[0] == '.' {
		n := 1
		for unit := int64(100_000_000); n < len(rest) && '0' <= rest[n] && rest[n] <= '9'; n++ {
			fraction += int64(rest[n]-'0') * unit
			unit /= 10
		}
		if n == 1 {
			return 0, false
		}
		rest = rest[n:]
	}
	zone := int64(0)
	if len(rest) != 1 || rest[0] != 'Z' {
		if len(rest) != 6 || rest[3] != ':' {
			return 0, false
		}
		var ok bool
		if zone, ok = zoneOf(rest[0], rest[1:3], rest[4:6]); !ok {
			return 0, false
		}
	}
	t, ok := c.nanoseconds(year, month, day, s[11:seconds], zone)
	return t + fraction, ok
}

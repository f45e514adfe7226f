package mirrors

import "strings"

// nearestKey returns the known key that is likely meant, or "".
func nearestKey(key string, known []string) string {
	if len(key) > 40 {
		return ""
	}
	plain := plainKey(key)
	if meant := otherName[plain]; meant != "" {
		for _, k := range known {
			if k == meant {
				return k
			}
		}
	}
	best, bestDistance := "", 3
	for _, k := range known {
		d := distance(plain, plainKey(k))
		if d < bestDistance && d*3 <= len(k) {
			best, bestDistance = k, d
		}
	}
	return best
}

// otherName has what other formats call a key: the document form of Talos, k3s, docker.
var otherName = map[string]string{
	"cert": "crt", "certificate": "crt", "certfile": "crt", "keyfile": "key", "cafile": "ca",
	"configs": "config", "endpoint": "endpoints", "user": "username", "pass": "password",
	"insecure": "insecureSkipVerify", "skipverify": "insecureSkipVerify", "token": "identityToken",
}

func plainKey(k string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(k))
}

// distance is the Levenshtein distance in bytes, where a swap of neighbours counts as one.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, prev, prev2 := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}

package tree

import "strings"

// Resembles reports whether a key that the format does not have looks as if it
// were about registries: a misspelt key, or one of another format.
func Resembles(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"mirror", "regist", "auth", "cred", "insecure"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

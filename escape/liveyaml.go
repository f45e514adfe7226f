package escape

// yamlVariable is the variable that holds the YAML scalar of a live variable.
func yamlVariable(name string) string { return ownPrefix + "yaml_" + name }

// yamlCall sets it.
func yamlCall(name string) string {
	return yamlVariable(name) + "=$(" + ownPrefix + `yaml "${` + name + `}")
case ${` + yamlVariable(name) + `} in
'"'*'"') ;;
*) ` + ownPrefix + "refuse " + name + ` 'text that is valid UTF-8 (and sed on PATH)' ;;
esac
`
}

// yamlFunction prints its argument as a YAML double-quoted scalar, or
// something that does not begin and end with a double quote when the argument
// is not UTF-8 or sed is missing.
//
// The bytes that it looks for cannot stand in a script that goes through
// Kubernetes; printf makes them. sed reads bytes, as LC_ALL is C. All lines are
// gathered first; then \ and " are escaped, then control characters and what
// YAML readers refuse or fold: DEL, C1, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF.
// The result is kept, each valid UTF-8 sequence is replaced by a blank, and a
// high byte that is left over is an error.
const yamlFunction = ownPrefix + `yaml() (
script='H;$!d;x;s/^\n//;s/\\/\\\\/g;s/"/\\"/g;s/\n/\\n/g'
for rune in '\001:01' '\002:02' '\003:03' '\004:04' '\005:05' '\006:06' '\007:07' '\010:08' '\011:09' '\013:0b' '\014:0c' '\015:0d' '\016:0e' '\017:0f' '\020:10' '\021:11' '\022:12' '\023:13' '\024:14' '\025:15' '\026:16' '\027:17' '\030:18' '\031:19' '\032:1a' '\033:1b' '\034:1c' '\035:1d' '\036:1e' '\037:1f' '\177:7f' '\302\200:80' '\302\201:81' '\302\202:82' '\302\203:83' '\302\204:84' '\302\205:85' '\302\206:86' '\302\207:87' '\302\210:88' '\302\211:89' '\302\212:8a' '\302\213:8b' '\302\214:8c' '\302\215:8d' '\302\216:8e' '\302\217:8f' '\302\220:90' '\302\221:91' '\302\222:92' '\302\223:93' '\302\224:94' '\302\225:95' '\302\226:96' '\302\227:97' '\302\230:98' '\302\231:99' '\302\232:9a' '\302\233:9b' '\302\234:9c' '\302\235:9d' '\302\236:9e' '\302\237:9f' '\342\200\250:u2028' '\342\200\251:u2029' '\357\273\277:ufeff' '\357\277\276:ufffe' '\357\277\277:uffff'; do
to=${rune#*:}
case $to in
u*) ;;
*) to=x$to ;;
esac
script="$script;s/$(printf "${rune%:*}")/\\\\$to/g"
done
next=$(printf '[\200-\277]')
script="$script;h;s/$(printf '[\302-\337]')$next/ /g;s/$(printf '\340[\240-\277]')$next/ /g;s/$(printf '[\341-\354\356\357]')$next$next/ /g;s/$(printf '\355[\200-\237]')$next/ /g;s/$(printf '\360[\220-\277]')$next$next/ /g;s/$(printf '[\361-\363]')$next$next$next/ /g;s/$(printf '\364[\200-\217]')$next$next/ /g"
printf '%s\n' "$1" | sed -e "$script" -e "/$(printf '[\200-\377]')/{" -e 's/.*/invalid/' -e q -e '}' -e 'g;s/.*/"&"/'
)
`

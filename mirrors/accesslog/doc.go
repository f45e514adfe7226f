// Package accesslog answers whether a node really pulled an image through a
// mirror, from the access log of the mirror.
//
// [Served] reads the log of one server and returns a [Report]: the answer and its
// reason, and the requests by image and by client. It reads, also mixed:
//
//	combined  the access lines of distribution and nginx; behind the user agent
//	          nginx may write more, and the first number such as 0.123, bare or as
//	          rt= or request_time=, is the response time in seconds
//	logrus    distribution's own lines: text, json, logstash
//	zot       zot's lines with the message "HTTP API"
//
// before them the prefix of kubectl logs --prefix and --timestamps, or of a CRI log
// file; gzip around all of it. As docker-registry 2.8.2 and nginx 1.22.1 write them
// when they run, zot 2.1 and distribution 3 by their source.
//
// A request counts once. distribution writes an access line and a "response
// completed" line for it: they are one when method, URI, status and size agree and
// they began in the same second or in neighbouring ones, with fewer than [Window]
// requests between; the client is that of the first line. A repeated
// http.request.id is one request. Other logrus lines ("authorized request", errors)
// are none. Probes and warm-ups are left out by their user agent: [DefaultIgnored].
//
// A request is GET or HEAD of a manifest, or GET of a blob; its status says what came
// of it, and what is served to GET was pulled:
//
//	served     200, 206, 304; 302, 303, 307, which send to the storage
//	missing    404, 410: the node goes on to its next endpoint
//	challenged 401, 403: not counted as a request, it comes again with a login
//	moved      301, 308: another address of the same thing
//	failed     all others
//
// containerd names the registry in the query (ns=ghcr.io); else the log has the path
// alone, and the reason says so. [UnderPath] is for a mirror with a path of its own.
// The answer for a tag rests on its manifest: blobs and digests have no tag.
//
//	yes      the image was served, and to GET: a node with its blobs takes no more
//	no       it was asked for and never served, or never asked for
//	unknown  a client may have forged lines. It was served to HEAD alone, or all of its
//	         blobs failed. Or nothing was served, and the log was not read to its end;
//	         it is empty; most of its lines or one that has the repository's name
//	         cannot be read; its last line is cut; a line is longer than MaxLine, or
//	         was split by the runtime; it has no request, or only the failed ones of a
//	         log level; it does not span Since to Until; or what was served is under
//	         another path, to a client behind a proxy, or of a tag that the log does
//	         not name
//
// distribution 2.8.2 writes the user of a request's URL into the access line as it is,
// a line feed too: a client can write lines. Such a request shows, or is too long or
// split; then the answer is unknown, unless all before it is older than Since.
//
// Memory is constant: [MaxImages] images and as many clients, the rest is counted as
// other. Nothing that is returned has a control character.
package accesslog

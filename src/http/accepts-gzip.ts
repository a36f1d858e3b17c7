/**
 * Whether an `Accept-Encoding` asks for gzip, read as nginx reads it: the first `gzip` that begins the text or follows a
 * comma or blank counts, `q=0` refuses it, and so does a quality that is none (nginx: ngx_http_gzip_accept_encoding).
 */
export function acceptsGzip(acceptEncoding: string): boolean {
  if (acceptEncoding.startsWith('gzip,')) return true;
  const [, rest] = /(?:^|[, ])gzip(.*)$/is.exec(acceptEncoding) ?? [];
  if (rest === undefined) return false;
  const [, separator, parameter = ''] = /^ *(?:([,;])(.*))?$/s.exec(rest) ?? [undefined, 'other'];
  if (separator !== ';') return separator !== 'other';
  if (/^ *$/.test(parameter)) return true;
  return /^ *q=(?:1(?:\.0{0,3})?|0\.(?!0{0,3}(?:[, ]|$))\d{0,3})(?:[, ]|$)/i.test(parameter);
}

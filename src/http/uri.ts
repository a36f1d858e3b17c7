import { isIPv6 } from 'node:net';
import type { RequestFacts } from './request.ts';

/** A path that decoding and normalising would not change: no `%`, no empty segment, none that begins with a dot. */
const NORMAL = /^\/(?:[\w~!$&'()*+,;=:@[\]-][\w~!$&'()*+,;=:@[\].-]*(?:\/|$))*$/;

/**
 * All characters but: blanks and control bytes; `\\`, which some programs treat as a slash; `?` and `#`, which end a
 * path; and U+FFFD, which stands for bytes that are not UTF-8.
 */
// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const PATH_CHARACTERS = /^\/[^\0-\x20#?\\\x7f\ufffd]*$/;

/** As above, but `?` and `\\` are allowed, and `%` before two hexadecimal digits. */
// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const QUERY = /^[^\0-\x20#%\x7f\ufffd]*(?:%[0-9A-Fa-f]{2}[^\0-\x20#%\x7f\ufffd]*)*$/;

/** The characters that nginx's `ngx_escape_uri` escapes in a URI (1.21.1 and later). */
const ESCAPED_IN_URI = /[^!$&-;=@-[\]_a-z~]+/g;

const ESCAPED_IN_ARGUMENT = /[^!$'-*,-:=@-[\]_a-z~]+/g;

/** Returns the parts of a target before and after its first `?`. Neither contains `#` and the text after it (nginx). */
export function splitTarget(target: string): { readonly path: string; readonly args: string } {
  const fragment = target.indexOf('#');
  const whole = fragment < 0 ? target : target.slice(0, fragment);
  const question = whole.indexOf('?');
  return question < 0
    ? { path: whole, args: '' }
    : { path: whole.slice(0, question), args: whole.slice(question + 1) };
}

/**
 * Returns the path as locations see it (`$uri`): percent-decoded once, `.` and `..` resolved, `//` merged if
 * `mergeSlashes`. `undefined` means 400: a backslash, an unencoded blank or control byte, a malformed `%`, `%00`,
 * invalid UTF-8, or a `..` above the root. As in nginx, clients may send `"<>^`{|}` and UTF-8 unescaped, `%2F` becomes
 * a slash, `%3F` and `%23` become plain characters of the path. Encoded control bytes other than NUL are allowed: code
 * that writes a header or a line must escape them.
 */
export function normalizePath(raw: string, mergeSlashes: boolean): string | undefined {
  if (NORMAL.test(raw)) return raw;
  if (!PATH_CHARACTERS.test(raw)) return undefined;
  const path = decodeComponent(raw);
  if (path === undefined || path.includes('\0')) return undefined;
  return resolveSegments(path, mergeSlashes);
}

function resolveSegments(path: string, mergeSlashes: boolean): string | undefined {
  const resolved: string[] = [];
  const segments = path.split('/');
  const last = segments.length - 1;
  for (let i = 1; i <= last; i++) {
    const segment = segments[i] as string;
    if (segment === '..') {
      if (resolved.pop() === undefined) return undefined;
    } else if (segment !== '.' && (segment !== '' || (!mergeSlashes && i < last))) {
      resolved.push(segment);
    }
  }
  const end = segments[last];
  const namesFolder = end === '' || end === '.' || end === '..';
  const joined = resolved.join('/');
  return namesFolder && resolved.length > 0 ? `/${joined}/` : `/${joined}`;
}

/**
 * Tells whether a query is acceptable. Besides RFC 3986's characters it may contain `"<>[\]^`{|}`, which browsers and
 * API clients send unescaped (`data->>name=eq.x`, `tags=cs.{a,b}`, `in.("a","b\"c")`). The core never decodes a query,
 * so they are harmless, as is UTF-8. Control bytes, blanks, `#`, other bytes and a malformed `%` are refused (400).
 */
export function isValidQuery(raw: string): boolean {
  return QUERY.test(raw);
}

/** Percent-encodes a decoded path, as nginx does for redirects and changed URIs (`ngx_escape_uri`). */
export function encodePath(uri: string): string {
  return uri.replace(ESCAPED_IN_URI, escapeBytes);
}

/**
 * Percent-encodes the characters that separate or end the arguments of a query (`ngx_escape_uri`, `NGX_ESCAPE_ARGS`).
 */
export function encodeArgument(text: string): string {
  return text.replace(ESCAPED_IN_ARGUMENT, escapeBytes);
}

function escapeBytes(text: string): string {
  let escaped = '';
  for (const byte of Buffer.from(text)) escaped += `%${HEX[byte] as string}`;
  return escaped;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).toUpperCase().padStart(2, '0'));

/** Percent-decodes once, strictly: `undefined` for a malformed `%` or invalid UTF-8. `+` stays a plus. */
export function decodeComponent(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Non-empty labels of letters, digits, `-` and `_`: the names that DNS and container networks use. */
const LOWER_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
/** Tested before lowercasing, because `toLowerCase` turns the Kelvin sign into `k`. */
const NAME = new RegExp(LOWER_NAME, 'i');
const PORT = /^:\d{0,5}$/;
const MAX_NAME_LENGTH = 255;
const MAX_PORT = 65_535;

/**
 * Returns the name in a `Host` value: lower case, without port and one trailing dot; an IPv6 literal keeps its brackets
 * (nginx's `$host`). `undefined` means 400: empty, a list, userinfo, a path, blanks, an empty label, a bad port, or
 * more than 255 characters. It accepts fewer characters than nginx.
 */
export function parseHost(value: string): string | undefined {
  if (value.length <= MAX_NAME_LENGTH && LOWER_NAME.test(value)) return value;
  const nameEnd = value.startsWith('[') ? value.indexOf(']') + 1 : endOfName(value);
  if (!isPort(value.slice(nameEnd))) return undefined;
  const name = value.slice(0, nameEnd);
  return name.startsWith('[') ? parseLiteral(name) : parseName(name);
}

function endOfName(value: string): number {
  const colon = value.indexOf(':');
  return colon === -1 ? value.length : colon;
}

// RFC 3986, 3.2.3: the digits may be missing, so `host:` is `host`.
function isPort(rest: string): boolean {
  return rest === '' || (PORT.test(rest) && Number(rest.slice(1)) <= MAX_PORT);
}

function parseName(name: string): string | undefined {
  const plain = name.endsWith('.') ? name.slice(0, -1) : name;
  return plain.length <= MAX_NAME_LENGTH && NAME.test(plain) ? plain.toLowerCase() : undefined;
}

/** A future version of IP literals (RFC 3986, 3.2.2: IPvFuture). */
const FUTURE_LITERAL = /^v[0-9a-f]+\.[\w.~!$&'()*+,;=:-]+$/i;

// A zone id (`%eth0`) is meaningful on one machine only, so it is not allowed in a Host (RFC 6874).
function parseLiteral(name: string): string | undefined {
  const address = name.slice(1, -1);
  const isLiteral = (isIPv6(address) && !address.includes('%')) || FUTURE_LITERAL.test(address);
  return isLiteral ? name.toLowerCase() : undefined;
}

/**
 * Percent-encodes everything in a redirect target that is not printable ASCII: blanks, control bytes, UTF-8. nginx
 * sends `$uri` decoded, so that `%0d%0a` can split the response; here it cannot.
 */
export function encodeLocation(target: string): string {
  return UNSAFE.test(target) ? target.replace(UNSAFE_RUNS, percentEncode) : target;
}

const UNSAFE = /[^\x21-\x7e]/;
const UNSAFE_RUNS = /[^\x21-\x7e]+/g;

function percentEncode(text: string): string {
  return Buffer.from(text, 'utf8').reduce(
    (out, byte) => `${out}%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    '',
  );
}

/** The parts of an absolute redirect that the configuration controls. */
export interface RedirectRules {
  /** False: the `Location` is a path only (`absolute_redirect off`). */
  readonly isAbsolute: boolean;
  /** Uses the server's first name instead of the request's host (`server_name_in_redirect`). */
  readonly byServerName: boolean;
  readonly withPort: boolean;
}

/** The parts of an exchange that a redirect needs. */
interface RedirectedRequest {
  readonly request: RequestFacts;
  readonly serverName: string;
}

/** Returns the value of `Location`: scheme, host and port are added to a path. */
export function redirectTarget(x: RedirectedRequest, target: string, rules: RedirectRules): string {
  if (!target.startsWith('/') || !rules.isAbsolute) return target;
  const { scheme, port, address } = x.request.port;
  const host = rules.byServerName ? x.serverName : x.request.host || address;
  const isUsual = port === 0 || port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host}${isUsual || !rules.withPort ? '' : `:${port}`}${target}`;
}

/** Returns the page that redirects old versions of Internet Explorer (nginx: `msie_refresh`). */
export function refreshPage(target: string): string {
  const url = target.replaceAll('"', '%22').replaceAll("'", '%27');
  return `<html><head><meta http-equiv="Refresh" content="0; URL=${url}"></head><body></body></html>\r\n`;
}

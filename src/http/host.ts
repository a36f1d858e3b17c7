import { isIPv6 } from 'node:net';

/** Labels of letters, digits, `-` and `_`, none of them empty: what DNS and container networks really use. */
const LOWER_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const PORT = /^:\d{0,5}$/;
const MAX_NAME_LENGTH = 255;
const MAX_PORT = 65_535;

/**
 * The name in a `Host` value: lower case, without port and one trailing dot; an IPv6 literal keeps its brackets
 * (nginx's `$host`). `undefined` means 400: empty, a list, userinfo, a path, blanks, an empty label, a bad port, or more
 * than 255 characters. Stricter than nginx in the characters of a name (reliability guard 3).
 */
export function parseHost(value: string): string | undefined {
  if (value.length <= MAX_NAME_LENGTH && LOWER_NAME.test(value)) return value;
  const nameEnd = value.startsWith('[') ? value.indexOf(']') + 1 : endOfName(value);
  if (!isPort(value.slice(nameEnd))) return undefined;
  const name = value.slice(0, nameEnd).toLowerCase();
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
  return plain.length <= MAX_NAME_LENGTH && LOWER_NAME.test(plain) ? plain : undefined;
}

// A zone id (`%eth0`) means something on one machine only; it has no place in a Host (RFC 6874).
function parseLiteral(name: string): string | undefined {
  const address = name.slice(1, -1);
  return isIPv6(address) && !address.includes('%') ? name : undefined;
}

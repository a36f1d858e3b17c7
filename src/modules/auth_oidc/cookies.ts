import type { Build } from '../../contract/index.ts';
import { type Exchange, stateKey } from '../../http/index.ts';

/** A cookie as a client sent it. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
}

/** The cookies of this module that a client sent, which nothing else of the request has any more. */
const TAKEN = stateKey<readonly Cookie[]>('cookies of auth_oidc');

/** A client has one session and at most five logins. More were not set here; they are taken, and not read. */
const MOST_READ = 16;

/** The cookies that `compileTaking` has taken out of a request. */
export function takenCookies({ main }: Exchange): readonly Cookie[] {
  return main.state(TAKEN) ?? [];
}

/** Characters of one cookie, and of a session that is in several. */
const PART = 3_800;
const MOST_PARTS = 4;
export const LONGEST_SESSION = PART * MOST_PARTS;

/** Returns the cookies that hold a session; the first one says how many follow. */
export function sessionCookies(cookieName: string, value: string): readonly Cookie[] {
  const count = Math.ceil(value.length / PART);
  if (count <= 1) return [{ name: cookieName, value }];
  return Array.from({ length: count }, (_, index) => {
    const part = value.slice(index * PART, (index + 1) * PART);
    return index === 0
      ? { name: cookieName, value: `${count}~${part}` }
      : { name: partName(cookieName, index), value: part };
  });
}

/** The values of the session cookies of one name. A client may have several, of other hosts or paths. */
export function sessionValues(x: Exchange, cookieName: string): readonly string[] {
  const cookies = takenCookies(x);
  return cookies.flatMap(({ name, value }) => {
    if (name !== cookieName) return [];
    const [, count, first] = /^([2-4])~(.*)$/s.exec(value) ?? [];
    if (first === undefined) return [value];
    const more = Array.from({ length: Number(count) - 1 }, (_, index) =>
      cookies.find((cookie) => cookie.name === partName(cookieName, index + 1)),
    );
    return more.includes(undefined) ? [] : [first + more.map((part) => part?.value).join('')];
  });
}

/** The names of the cookies that a session of a client is in, and that another one would not replace. */
export function furtherParts(x: Exchange, cookieName: string): readonly string[] {
  const names = Array.from({ length: MOST_PARTS - 1 }, (_, index) => partName(cookieName, index + 1));
  return names.filter((part) => takenCookies(x).some(({ name }) => name === part));
}

function partName(cookieName: string, index: number): string {
  return `${cookieName}_part${index}`;
}

/**
 * Compiles the step that takes the cookies of sessions and logins out of requests, so that no upstream, program or log has
 * them. All other cookies stay as they are.
 */
export function compileTaking(cookieNames: readonly string[], build: Build): (x: Exchange) => void {
  build.needHeader('cookie');
  const isTaken = (name: string): boolean =>
    cookieNames.some(
      (own) => name === own || name.startsWith(loginPrefix(own)) || name.startsWith(`${own}_part`),
    );
  return (x) => {
    const { headers } = x.request;
    const has = headers.some(
      (header, index) => index % 2 === 1 && headers[index - 1] === 'cookie' && mentions(header, cookieNames),
    );
    if (!has) return;
    const taken: Cookie[] = [];
    const kept: string[] = [];
    for (let index = 0; index < headers.length; index += 2) {
      const [name, value] = [headers[index] as string, headers[index + 1] as string];
      const rest = name === 'cookie' ? without(value, { isTaken, taken }) : value;
      if (name !== 'cookie' || rest !== '') kept.push(name, rest);
    }
    x.setState(TAKEN, taken.slice(0, MOST_READ));
    x.request = { ...x.request, headers: kept };
  };
}

function mentions(header: string, names: readonly string[]): boolean {
  return names.some((name) => header.includes(name));
}

/** The pairs of a `Cookie` header that are not taken. */
function without(
  header: string,
  { isTaken, taken }: { readonly isTaken: (name: string) => boolean; readonly taken: Cookie[] },
): string {
  const kept = header.split(';').filter((pair) => {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, Math.max(equals, 0)).trim();
    if (!isTaken(name)) return true;
    taken.push({ name, value: pair.slice(equals + 1).trim() });
    return false;
  });
  return kept.join(';').trim();
}

/** The names of the cookies of logins begin with that of the session, so that a prefix such as `__Host-` counts for both. */
export function loginPrefix(cookieName: string): string {
  return `${cookieName}_login_`;
}

/** The attributes that decide who gets a cookie. */
interface CookieOptions {
  readonly isSecure: boolean;
  /** Absent: until the browser ends. */
  readonly maxAgeS?: number;
}

/** Returns the value of a `Set-Cookie` header. */
export function cookieText({ name, value }: Cookie, { isSecure, maxAgeS }: CookieOptions): string {
  const age = maxAgeS === undefined ? '' : `; Max-Age=${maxAgeS}`;
  return `${name}=${value}; Path=/; HttpOnly${isSecure ? '; Secure' : ''}; SameSite=Lax${age}`;
}

/** Returns the value of a `Set-Cookie` header that removes a cookie. */
export function noCookieText(name: string, isSecure: boolean): string {
  return cookieText({ name, value: '' }, { isSecure, maxAgeS: 0 });
}

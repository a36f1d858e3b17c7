import { type Exchange, type HeaderFilter, stateKey } from '../../../http/index.ts';
import type { CorsOrigins } from '../directives/index.ts';

/** What every response depends on, as PostgREST says it. */
const ALWAYS = 'Accept, Prefer, Range';

/** Value: the database has set `Vary`, which then stays as it is. */
const CHOSEN = stateKey<boolean>('Vary of the database');

export function keepChosenVary(x: Exchange): void {
  x.setState(CHOSEN, true);
}

/**
 * Adds the request headers that a response depends on to its `Vary`; errors do not depend on them. Called where it is sent: in
 * a cache, `Vary` would tell requests apart that its key knows to be the same.
 */
function addVary(x: Exchange, dependsOnOrigin: boolean): void {
  const own = x.status < 400 && x.state(CHOSEN) !== true ? ALWAYS : '';
  const names = dependsOnOrigin ? `${own}${own && ', '}Origin` : own;
  if (names === '') return;
  const { response } = x;
  const others = response.joinedHeader('vary');
  if (others === undefined) response.setKnownHeader('Vary', names);
  else response.replaceHeader('Vary', union(others, names));
}

function union(lists: string, more: string): string {
  const names = [...lists.split(','), ...more.split(',')].map((name) => name.trim()).filter(Boolean);
  if (names.includes('*')) return '*';
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()].join(', ');
}

/** The values that PostgREST sends (its CORS middleware), QUERY and ETag; clients and proxies may compare them. */
const METHODS = 'GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD, QUERY';
const EXPOSED =
  'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit, ETag';
const ALWAYS_ALLOWED = ['Accept', 'Accept-Language', 'Content-Language'];
const MAX_AGE_S = '86400';
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS.split(', '));

/** Cross-origin handling of one location (Fetch standard, CORS protocol). */
interface Cors {
  /** Adds the CORS headers to every response, including errors. */
  readonly filter: HeaderFilter;
  /** Sets the headers for a preflight request. Returns false when it is none, or the origin is not allowed. */
  preflight(x: Exchange): boolean;
}

/** Compiles the CORS handling. Headers that the database or another filter has set take precedence. */
export function compileCors(origins: CorsOrigins): Cors {
  const listed = origins === '*' ? undefined : new Set(origins);
  const allows = (origin: string | undefined): origin is string =>
    origin !== undefined && (!listed || listed.has(origin));
  const open = (x: Exchange, origin: string): void => {
    x.response.setHeader('Access-Control-Allow-Origin', listed ? origin : '*');
    if (listed) x.response.setHeader('Access-Control-Allow-Credentials', 'true');
  };

  return {
    filter(x) {
      const isDecided = isOpened(x);
      // A cache must not use the response for one origin for another origin, or for a request without one.
      addVary(x, !isDecided && listed !== undefined && listed.size > 0);
      if (isDecided) return;
      const origin = x.header('origin');
      if (!allows(origin)) return;
      open(x, origin);
      x.response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    },

    preflight(x) {
      const origin = x.header('origin');
      const method = x.header('access-control-request-method');
      if (!allows(origin) || method === undefined || !KNOWN_METHODS.has(method)) return false;
      open(x, origin);
      if (listed) x.response.setHeader('Vary', 'Origin');
      x.response.setHeader('Access-Control-Allow-Methods', METHODS);
      x.response.setHeader(
        'Access-Control-Allow-Headers',
        allowedHeaders(x.header('access-control-request-headers')),
      );
      x.response.setHeader('Access-Control-Max-Age', MAX_AGE_S);
      return true;
    },
  };
}

function isOpened({ response: { headers = [] } }: Exchange): boolean {
  return headers.some((word, i) => i % 2 === 0 && word.toLowerCase() === 'access-control-allow-origin');
}

/** Allows every header that the preflight lists. */
function allowedHeaders(asked: string | undefined): string {
  const names = asked?.split(',').map((name) => name.trim()) ?? [];
  return ['Authorization', ...names.filter(Boolean), ...ALWAYS_ALLOWED].join(', ');
}

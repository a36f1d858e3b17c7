import type { Exchange, HeaderFilter } from '../../http/index.ts';

/** `dbrest_cors_origins`: pages of any origin may read the answers, those of some, or of none. */
export type CorsOrigins = '*' | readonly string[];

/** The words of PostgREST (its CORS middleware), which clients and proxies may compare. */
const METHODS = 'GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD';
const EXPOSED =
  'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit';
const ALWAYS_ALLOWED = ['Accept', 'Accept-Language', 'Content-Language'];
const MAX_AGE_S = '86400';
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS.split(', '));

/** How a location answers requests of pages from elsewhere (Fetch standard, CORS protocol). */
export interface Cors {
  /** Opens every answer, errors included, to the page that asked. */
  readonly filter: HeaderFilter;
  /** Answers what a browser asks in front of a request; false: it is none that may be granted. */
  preflight(x: Exchange): boolean;
}

/** What the database or another filter said goes before. */
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
      if (isOpened(x)) return;
      // A cache must not give the answer for one origin to another, nor to a request without any.
      if (listed && listed.size > 0) x.response.setHeader('Vary', 'Origin');
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
      x.send(200, '', '');
      return true;
    },
  };
}

function isOpened({ response: { headers = [] } }: Exchange): boolean {
  return headers.some((word, i) => i % 2 === 0 && word.toLowerCase() === 'access-control-allow-origin');
}

/** Whatever is asked for. */
function allowedHeaders(asked: string | undefined): string {
  const names = asked?.split(',').map((name) => name.trim()) ?? [];
  return ['Authorization', ...names.filter(Boolean), ...ALWAYS_ALLOWED].join(', ');
}

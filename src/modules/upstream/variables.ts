import type { ModuleDefinition, UpstreamConfig, VariableDefinition } from '../../contract/index.ts';
import { sliceRange, type Try, upstreamFacts, type UpstreamFacts } from '../../forwarding/index.ts';
import { cacheAge, type CacheFacts, cacheFacts } from '../../cache/index.ts';

type Variables = NonNullable<ModuleDefinition<UpstreamConfig>['variables']>;
type Families = NonNullable<ModuleDefinition<UpstreamConfig>['families']>;

/** Defines a variable with one value per peer that was tried, joined as in nginx: `a, b : c`. */
function ofTries(summary: string, show: (tried: Try) => string): VariableDefinition {
  return {
    summary,
    compile: () => (x) =>
      upstreamFacts(x)
        ?.rounds.filter((round) => round.length > 0)
        .map((round) => round.map(show).join(', '))
        .join(' : ') || undefined,
  };
}

function seconds(ms: number): string {
  return ms < 0 ? '-' : (ms / 1000).toFixed(3);
}

const ofCache = (summary: string, read: (facts: CacheFacts) => string): VariableDefinition => ({
  summary,
  live: true,
  compile: () => (x) => {
    const facts = cacheFacts(x);
    return facts && (read(facts) || undefined);
  },
});

/** nginx's variables of the upstream module, and of slices. */
export const variables: Variables = {
  upstream_addr: ofTries(
    'Addresses of the upstreams that the request was sent to.',
    ({ address }) => address,
  ),
  upstream_status: ofTries('Statuses of their responses.', ({ status }) =>
    status === 0 ? '-' : String(status),
  ),
  upstream_connect_time: ofTries('Seconds to connect.', ({ connectMs }) => seconds(connectMs)),
  upstream_header_time: ofTries('Seconds to the head of the response.', ({ headerMs }) => seconds(headerMs)),
  upstream_response_time: ofTries('Seconds to the end of the response.', ({ responseMs }) =>
    seconds(responseMs),
  ),
  upstream_response_length: ofTries('Bytes of the bodies.', ({ bodyBytes }) => String(bodyBytes)),
  upstream_bytes_received: ofTries('Bytes received.', ({ receivedBytes }) => String(receivedBytes)),
  upstream_bytes_sent: ofTries('Bytes sent.', ({ sentBytes }) => String(sentBytes)),
  upstream_cache_status: ofCache(
    'MISS, BYPASS, EXPIRED, STALE, UPDATING, REVALIDATED or HIT; empty without a cache.',
    ({ status }) => status,
  ),
  upstream_cache_last_modified: ofCache(
    '`Last-Modified` of the expired response that the upstream is asked about.',
    ({ lastModified }) => lastModified,
  ),
  upstream_cache_etag: ofCache(
    '`ETag` of the expired response that the upstream is asked about.',
    ({ etag }) => etag,
  ),
  upstream_cache_age: {
    summary: 'Seconds since the response that is served was stored or renewed.',
    live: true,
    compile: () => (x) => cacheAge(x)?.toString(),
  },
  slice_range: {
    summary: 'The piece of a response that is fetched, as the value of a `Range` header: `bytes=0-1048575`.',
    live: true,
    compile: () => sliceRange,
  },
  upstream_cache_key: ofCache('The key of the response in the cache.', ({ key }) => key),
};

/** Returns all values of a header, joined (nginx 1.23 and later). */
function valuesOf(fields: readonly string[], name: string): string | undefined {
  let joined: string | undefined;
  for (let index = 0; index < fields.length; index += 2) {
    if ((fields[index] as string).toLowerCase() !== name) continue;
    const value = fields[index + 1] as string;
    joined = joined === undefined ? value : `${joined}, ${value}`;
  }
  return joined;
}

function ofResponse(
  summary: string,
  read: (facts: UpstreamFacts, name: string) => string | undefined,
): Families[string] {
  return {
    summary,
    compile: (rest) => {
      const name = rest.replaceAll('_', '-');
      return (x) => {
        const facts = upstreamFacts(x);
        return facts && read(facts, name);
      };
    },
  };
}

/** A name and a value; blanks around the `=` are ignored (nginx: ngx_http_parse_set_cookie_lines). */
const PAIR = /^([^= ]+) *= *(.*)$/;

function cookieOf({ responseHeaders }: UpstreamFacts, name: string): string | undefined {
  for (let index = 0; index < responseHeaders.length; index += 2) {
    if ((responseHeaders[index] as string).toLowerCase() !== 'set-cookie') continue;
    const [pair = ''] = (responseHeaders[index + 1] as string).split(';', 1);
    const [, key, value] = PAIR.exec(pair) ?? [];
    if (key?.toLowerCase() === name) return value;
  }
  return undefined;
}

/** Variables whose names have a variable part: `$upstream_http_etag`. */
export const families: Families = {
  upstream_http_: ofResponse("A header of the upstream's response.", ({ responseHeaders }, name) =>
    valuesOf(responseHeaders, name),
  ),
  upstream_trailer_: ofResponse("A trailer of the upstream's response.", ({ trailers }, name) =>
    valuesOf(trailers, name),
  ),
  upstream_cookie_: {
    summary: "A cookie of the upstream's response.",
    compile: (name) => (x) => {
      const facts = upstreamFacts(x);
      return facts && cookieOf(facts, name);
    },
  },
};

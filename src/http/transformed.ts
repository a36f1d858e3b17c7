import type { Exchange } from './exchange.ts';

/** Adjusts the headers of a response with a transformed body: no ranges, and at best a weak `ETag` (nginx). */
export function markTransformed(x: Exchange): void {
  x.response.removeHeader('Accept-Ranges');
  weakenEtag(x);
}

/** Makes an `ETag` weak. Removes a value that is not an entity tag (nginx: ngx_http_weak_etag). */
export function weakenEtag(x: Exchange): void {
  const etag = x.response.header('ETag');
  if (etag === undefined || etag.startsWith('W/')) return;
  if (etag.startsWith('"')) x.response.replaceHeader('ETag', `W/${etag}`);
  else x.response.removeHeader('ETag');
}

/** A response that may be sent later. */
interface ExpectedResponse {
  readonly status: number;
  readonly type: string;
  readonly lengthBytes: number;
}

function expect(x: Exchange, { status, type, lengthBytes }: ExpectedResponse): void {
  x.status = status;
  x.response.type = type;
  x.response.lengthBytes = lengthBytes;
}

/** Returns the part of such a response that body filters would change: nothing, its bytes, or its length as well. */
export function transformation(x: Exchange, expected: ExpectedResponse): 'nothing' | 'bytes' | 'length' {
  if (x.rules.bodyFilters.length === 0) return 'nothing';
  expect(x, expected);
  const applied = x.rules.bodyFilters.filter((filter) => filter.wants(x));
  if (applied.length === 0) return 'nothing';
  return applied.every((filter) => filter.keepsLength?.(x)) ? 'bytes' : 'length';
}

/**
 * Runs the header filters as for a 200. The headers that they add stay if the response becomes another one, as in
 * nginx, whose range filter runs last.
 */
export function passFilters(x: Exchange, expected: Omit<ExpectedResponse, 'status'>): void {
  expect(x, { status: 200, ...expected });
  for (const filter of x.rules.filters) filter(x);
}

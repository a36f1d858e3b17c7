import type { Exchange } from './exchange.ts';

/** A response whose bytes change on their way has no ranges to ask for, and a weak `ETag` at best (nginx). */
export function markTransformed(x: Exchange): void {
  x.response.removeHeader('Accept-Ranges');
  weakenEtag(x);
}

/** Makes the `ETag` of a response whose bytes change a weak one; what is no entity tag goes (nginx: ngx_http_weak_etag). */
export function weakenEtag(x: Exchange): void {
  const etag = x.response.header('ETag');
  if (etag === undefined || etag.startsWith('W/')) return;
  if (etag.startsWith('"')) x.response.replaceHeader('ETag', `W/${etag}`);
  else x.response.removeHeader('ETag');
}

/** A response that may yet be sent. */
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

/** Whether some body filter wants a response of this kind: then its length is not known before its end. */
export function isTransformed(x: Exchange, expected: ExpectedResponse): boolean {
  if (x.rules.bodyFilters.length === 0) return false;
  expect(x, expected);
  return x.rules.bodyFilters.some((filter) => filter.wants(x));
}

/** What filters add to a response with 200 stays when it turns out to be another one (nginx: its range filter comes last). */
export function passFilters(x: Exchange, expected: Omit<ExpectedResponse, 'status'>): void {
  expect(x, { status: 200, ...expected });
  for (const filter of x.rules.filters) filter(x);
}

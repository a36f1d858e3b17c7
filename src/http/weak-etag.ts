import type { ExchangeState } from './exchange-state.ts';

/** An answer whose bytes change on their way has no ranges to ask for, and a weak `ETag` at best (nginx). */
export function becomesAnother(x: ExchangeState): void {
  x.removeHeader('Accept-Ranges');
  weakenEtag(x);
}

/** Makes the `ETag` of an answer whose bytes change a weak one; what is no entity tag goes (nginx: ngx_http_weak_etag). */
export function weakenEtag(x: ExchangeState): void {
  const etag = x.responseHeader('ETag');
  if (etag === undefined || etag.startsWith('W/')) return;
  if (etag.startsWith('"')) x.replaceHeader('ETag', `W/${etag}`);
  else x.removeHeader('ETag');
}

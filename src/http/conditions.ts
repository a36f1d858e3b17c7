import { parseHttpDate } from './dates.ts';
import type { Exchange } from './exchange.ts';

/** The headers that identify one state of a resource. */
export interface Validators {
  /** Seconds since the epoch; NaN: unknown. */
  readonly modifiedSeconds: number;
  /** `Sun, 06 Nov 1994 08:49:37 GMT` */
  readonly lastModified: string;
  /** With its quotes; '' without one. */
  readonly etag: string;
}

/** Returns the validators that nginx gives a file. They are computed once for a file that is kept open. */
export function validatorsOf(modifiedSeconds: number, sizeBytes: number): Validators {
  return {
    modifiedSeconds,
    lastModified: new Date(modifiedSeconds * 1000).toUTCString(),
    etag: `"${modifiedSeconds.toString(16)}-${sizeBytes.toString(16)}"`,
  };
}

/** Evaluates the conditions of a request. 200: the request is served as if it had none. */
export type Conditions = (x: Exchange, validators: Omit<Validators, 'lastModified'>) => 200 | 304 | 412;

/** Makes request headers available to the code that needs them. */
export interface HeaderNeed {
  needHeader(lowerCaseName: string): void;
}

/** Compiles conditional requests, evaluated in nginx's order (ngx_http_not_modified_filter_module). */
export function compileConditions(rule: 'off' | 'exact' | 'before', build: HeaderNeed): Conditions {
  const names = ['if-unmodified-since', 'if-match', 'if-modified-since', 'if-none-match'] as const;
  for (const name of names) build.needHeader(name);
  return (x, { modifiedSeconds, etag }) => {
    if (x.request.headers.length === 0) return 200;
    const [unmodifiedSince, match, modifiedSince, noneMatch] = names.map((name) => x.header(name));
    if (unmodifiedSince !== undefined && !((parseHttpDate(unmodifiedSince) ?? -1) >= modifiedSeconds))
      return 412;
    if (match !== undefined && !matchesEntityTag(match, { etag, weak: false })) return 412;
    if (modifiedSince === undefined && noneMatch === undefined) return 200;
    if (modifiedSince !== undefined && isModified(modifiedSince, { modifiedSeconds, rule })) return 200;
    return noneMatch === undefined || matchesEntityTag(noneMatch, { etag, weak: true }) ? 304 : 200;
  };
}

interface Since {
  readonly modifiedSeconds: number;
  readonly rule: 'off' | 'exact' | 'before';
}

function isModified(since: string, { modifiedSeconds, rule }: Since): boolean {
  if (rule === 'off' || Number.isNaN(modifiedSeconds)) return true;
  const seconds = parseHttpDate(since) ?? -1;
  return rule === 'exact' ? seconds !== modifiedSeconds : seconds < modifiedSeconds;
}

interface Comparison {
  readonly etag: string;
  /** Weak comparison: `W/` does not count (RFC 9110, 8.8.3.2). */
  readonly weak: boolean;
}

/** Tells whether a list of entity tags contains this one. */
export function matchesEntityTag(list: string, { etag, weak }: Comparison): boolean {
  if (list === '*') return true;
  if (etag === '') return false;
  return list.split(',').some((item) => {
    const tag = item.trim();
    return tag === etag || (weak && tag === `W/${etag}`);
  });
}

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

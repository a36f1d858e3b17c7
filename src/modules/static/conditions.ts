import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { parseHttpDate } from './http-date.ts';

/** What tells one state of a resource from another. */
export interface Validators {
  readonly modifiedSeconds: number;
  /** With its quotes; '' without one. */
  readonly etag: string;
}

/** The status that the conditions of a request lead to; 200: it is answered as if there were none. */
export type Conditions = (x: Exchange, validators: Validators) => 200 | 304 | 412;

/** Conditional requests, in the order in which nginx looks at them (ngx_http_not_modified_filter_module). */
export function compileConditions(rule: 'off' | 'exact' | 'before', build: Build): Conditions {
  const names = ['if-unmodified-since', 'if-match', 'if-modified-since', 'if-none-match'] as const;
  for (const name of names) build.needHeader(name);
  return (x, { modifiedSeconds, etag }) => {
    if (x.headers.length === 0) return 200;
    const [unmodifiedSince, match, modifiedSince, noneMatch] = names.map((name) => x.header(name));
    if (unmodifiedSince !== undefined && !((parseHttpDate(unmodifiedSince) ?? -1) >= modifiedSeconds))
      return 412;
    if (match !== undefined && !matches(match, { etag, weak: false })) return 412;
    if (modifiedSince === undefined && noneMatch === undefined) return 200;
    if (modifiedSince !== undefined && isModified(modifiedSince, { modifiedSeconds, rule })) return 200;
    return noneMatch === undefined || matches(noneMatch, { etag, weak: true }) ? 304 : 200;
  };
}

interface Since {
  readonly modifiedSeconds: number;
  readonly rule: 'off' | 'exact' | 'before';
}

function isModified(since: string, { modifiedSeconds, rule }: Since): boolean {
  if (rule === 'off') return true;
  const seconds = parseHttpDate(since) ?? -1;
  return rule === 'exact' ? seconds !== modifiedSeconds : seconds < modifiedSeconds;
}

interface Comparison {
  readonly etag: string;
  /** Weak comparison: `W/` does not count (RFC 9110, 8.8.3.2). */
  readonly weak: boolean;
}

/** Whether a list of entity tags has this one. */
function matches(list: string, { etag, weak }: Comparison): boolean {
  if (list === '*') return true;
  if (etag === '') return false;
  return list.split(',').some((item) => {
    const tag = item.trim();
    return tag === etag || (weak && tag === `W/${etag}`);
  });
}

import type { Build } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { offsetBeyond, tooManyAffected } from '../fault/index.ts';
import { apiFacts } from '../openapi/index.ts';
import type { PlannedCall, PlannedRead } from '../plan/index.ts';
import { QUERY, type RequestHead, rowLimitOf, sortedQuery } from '../request/index.ts';
import type { Results } from '../session/index.ts';
import { countedTotal, type RunPlan } from '../sql/index.ts';
import { EmptyBody, openBody, type ResponseStart, type RowCounts } from './body.ts';
import { Documents, respondToDescribe } from './describe.ts';
import {
  contentRange,
  type OpenResponse,
  rangeHeaders,
  rangeStatus,
  type ResponseParts,
  responseSettings,
  setHead,
  settingsOf,
} from './head.ts';
import { compileTagging } from './tagging.ts';
import { respondToWrite } from './write.ts';

export { contentType } from './body.ts';
export { compileCors, type OpenResponse, Stopwatch } from './head.ts';
export { respondToOptions } from './describe.ts';
export { asPreferred, faultOf, isServerError, sendFault } from './error.ts';

interface OpenedParts extends Omit<ResponseParts, 'config' | 'tagging'> {
  /** The response is made for a cache. */
  readonly isStored: boolean;
}

/** Compiles the responses of a location. The returned function opens a response before its statements run. */
export function compileResponse(
  config: DbrestConfig,
  build: Pick<Build, 'location' | 'token'>,
): (x: Exchange, plan: RunPlan, given: OpenedParts) => OpenResponse {
  const documents = new Documents(config, apiFacts(config, build));
  const { reads, stored, written } = compileTagging(config);
  return (x, plan, { statements, stopwatch, held, isStored, runs }) => {
    const tagging = plan.kind === 'write' ? written : isStored ? stored : reads;
    const parts = { config, statements, stopwatch, held, tagging, runs };
    switch (plan.kind) {
      case 'read':
        return respondToRead(x, plan, parts);
      case 'write':
        return respondToWrite(x, plan, parts);
      case 'call':
        return respondToCall(x, plan, parts);
      case 'describe':
        return respondToDescribe(x, plan, { ...parts, documents });
    }
  };
}

/** The response to a read, streamed while its rows arrive. */
function respondToRead(x: Exchange, plan: PlannedRead, parts: ResponseParts): OpenResponse {
  const { form, request, preferences } = plan;
  const { config, statements, stopwatch, tagging, held, runs } = parts;
  const { query } = request;
  const head = ({ rows, response }: RowCounts, results: Results): ResponseStart => {
    stopwatch?.lap('transaction');
    const { firstCount, before } = statements;
    const total =
      before.length > firstCount
        ? countedTotal(
            preferences.count,
            results.slice(firstCount),
            rowLimitOf(config.maxRows, request.head.resource.name),
          )
        : undefined;
    const status = rangeStatus(query, rows, total);
    const chosen = response ? responseSettings(...response) : settingsOf(statements, results);
    const own = [
      ...rangeHeaders(form.media, contentRange(query, rows, total)),
      ...contentLocation(x, request.head),
    ];
    return setHead(x, { status, rows, own, chosen }, { plan, config, stopwatch, runs });
  };
  const body = openBody(x, form, { head, held, tagging });
  return { sink: body, end: () => body.end() };
}

/** Proxies in front have a few kilobytes for the whole head of a response. */
const LONGEST_LOCATION = 2_048;

/**
 * The URI of the rows as the client named them, with sorted parameters (PostgREST). Omitted if it is long, or if the
 * body of a QUERY names the rows.
 */
function contentLocation(
  { request: { requestUri } }: Exchange,
  { method }: RequestHead,
): (readonly [name: 'Content-Location', uri: string])[] {
  if (requestUri.length > LONGEST_LOCATION || method === QUERY) return [];
  const at = requestUri.indexOf('?');
  if (at < 0) return [['Content-Location', requestUri]];
  const query = sortedQuery(requestUri.slice(at + 1));
  return [['Content-Location', `${requestUri.slice(0, at)}${query && `?${query}`}`]];
}

/** The response to a call. It is streamed, unless the call may have changed data: then it is sent after the commit. */
function respondToCall(x: Exchange, plan: PlannedCall, parts: ResponseParts): OpenResponse {
  const { form, request, preferences, readOnly, isVoid } = plan;
  const { config, statements, stopwatch, tagging, held = !readOnly, runs } = parts;
  const { query } = request;
  const { maxAffected } = preferences;
  const isRead = request.head.method !== 'POST';
  const head = (counts: RowCounts, results: Results): ResponseStart => {
    stopwatch?.lap('transaction');
    const { firstCount, before } = statements;
    const isGuessed = before.length > firstCount;
    const total = isGuessed ? countedTotal('planned', results.slice(firstCount)) : counts.total;
    const status = isVoid ? 204 : rangeStatus(query, counts.rows, total);
    const own = isVoid ? [] : rangeHeaders(form.media, contentRange(query, counts.rows, total));
    const chosen = counts.response ? responseSettings(...counts.response) : settingsOf(statements, results);
    return setHead(x, { status, rows: counts.rows, own, chosen }, { plan, config, stopwatch, runs });
  };
  const guard = ({ rows, total }: RowCounts): void => {
    if (maxAffected !== undefined && rows > maxAffected) throw tooManyAffected(rows);
    if (total !== undefined && query.offset > total) throw offsetBeyond(query.offset, total);
  };
  const body = isVoid
    ? new EmptyBody(x, { head, tail: form.tail })
    : openBody(x, form, { head, held, guard, tagging: isRead ? tagging : undefined });
  return { sink: body, ...(plan.held && { verdict: () => body.judge() }), end: () => body.end() };
}

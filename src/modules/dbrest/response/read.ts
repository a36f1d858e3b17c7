import type { Exchange } from '../../../http/index.ts';
import type { PlannedRead } from '../plan/index.ts';
import { QUERY, type RequestHead, sortedQuery } from '../request/index.ts';
import type { Results } from '../session/index.ts';
import { countedTotal } from '../sql/index.ts';
import { openBody, type ResponseStart, type RowCounts } from './body.ts';
import {
  type OpenResponse,
  type ResponseParts,
  responseSettings,
  setHead,
  settingsOf,
  contentRange,
  rangeHeaders,
  rangeStatus,
} from './head.ts';
import { rowLimitOf } from '../directives/index.ts';

/** The response to a read, streamed while its rows arrive. */
export function respondToRead(x: Exchange, plan: PlannedRead, parts: ResponseParts): OpenResponse {
  const { form, request, preferences } = plan;
  const { config, statements, stopwatch, tagging, held } = parts;
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
    return setHead(x, { status, rows, own, chosen }, { plan, config, stopwatch });
  };
  const body = openBody(x, form, { head, held, tagging });
  return { sink: body, end: () => body.end() };
}

/** Proxies in front have a few kilobytes for the whole head of a response. */
const LONGEST_LOCATION = 2_048;

/**
 * The URI of the rows as the client named them, with sorted parameters (PostgREST). None if it is long, or if the body of a QUERY
 * names the rows.
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

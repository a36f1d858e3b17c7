import type { Exchange } from '../../../http/index.ts';
import { offsetBeyond, tooManyAffected } from '../fault/index.ts';
import type { PlannedCall } from '../plan/index.ts';
import type { Results } from '../session/index.ts';
import { countedTotal } from '../sql/index.ts';
import { EmptyBody, openBody, type ResponseStart, type RowCounts } from './body.ts';
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

/** The response to a call. It is streamed, unless the call may have changed data: then it is sent after the commit. */
export function respondToCall(x: Exchange, plan: PlannedCall, parts: ResponseParts): OpenResponse {
  const { form, request, preferences, readOnly, isVoid } = plan;
  const { config, statements, stopwatch, tagging, held = !readOnly } = parts;
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
    return setHead(x, { status, rows: counts.rows, own, chosen }, { plan, config, stopwatch });
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

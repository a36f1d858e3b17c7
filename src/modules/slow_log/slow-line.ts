import { type Try, upstreamFacts } from '../../forwarding/index.ts';
import { type Exchange, phasesOf, requestId, type TimedPart, tracedBy } from '../../http/index.ts';
import { jsonText, roundedMs, timeUtc } from '../../log/index.ts';
import { normalizedSql, shownSql } from '../../postgres/index.ts';

/** What was slow: a request, or what it waited for. */
export type SlowKind = 'request' | 'query' | 'kv' | 'upstream';

/** Returns the line about something slow, as an object of JSON without its line end. */
export function slowLine(
  x: Exchange,
  { kind, ms, location, ...more }: { kind: SlowKind; ms: number; location: string },
): string {
  return jsonText({
    kind,
    time: timeUtc(Date.now()),
    ms: roundedMs(ms),
    request_id: requestId(x),
    trace_id: tracedBy(x)?.traceId ?? null,
    location,
    ...more,
  });
}

/** Returns what the line about a request has besides, with the milliseconds of each phase. */
export function requestMembers(x: Exchange): object {
  const known = phasesOf(x);
  const phases: [string, number][] = Object.entries(known?.ms ?? {});
  // The time after the last statement or command.
  if (known && known.endedAt > 0) phases.push(['send', performance.now() - known.endedAt]);
  const tries = upstreamFacts(x)?.rounds.flat() ?? [];
  if (tries.length > 0)
    phases.push(['upstream', tries.reduce((sum, { responseMs }) => sum + Math.max(0, responseMs), 0)]);
  return {
    method: x.request.method,
    status: x.status,
    ...Object.fromEntries(phases.map(([phase, ms]) => [phase, roundedMs(ms)])),
  };
}

/** Returns what the line about a statement or a command has besides; `plan` is that of the statement. */
export function partMembers(x: Exchange, { kind, text, role }: TimedPart, plan: unknown): object {
  if (kind === 'kv') return { command: text };
  return {
    sql: shownSql(text),
    rows: phasesOf(x)?.rows ?? null,
    role: role ?? null,
    ...(plan !== undefined && { plan: maskedPlan(plan) }),
  };
}

/** Returns what the line about a try of an upstream has besides. */
export function tryMembers({ address, status, connectMs, headerMs }: Try): object {
  return { upstream: address, status, connect: roundedMs(connectMs), header: roundedMs(headerMs) };
}

/** Members of a plan of PostgreSQL that have numbers or words of its own; all others are expressions. */
const OWN = /Type|Name|Schema|Alias|Strategy|Relationship|Direction|Command|Operation|Mode|Method|Scan/;
const MAX_DEPTH = 64;

/** Returns a plan in JSON without the values in its expressions. */
export function maskedPlan(plan: unknown, member = '', depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  if (typeof plan === 'string') return OWN.test(member) ? plan : normalizedSql(plan);
  if (Array.isArray(plan)) return plan.map((each: unknown) => maskedPlan(each, member, depth + 1));
  if (typeof plan !== 'object' || plan === null) return plan;
  return Object.fromEntries(
    Object.entries(plan).map(([name, value]) => [name, maskedPlan(value, name, depth + 1)]),
  );
}

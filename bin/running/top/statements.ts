import { callControl, type ControlTarget } from '../control-client.ts';

/** A statement in a response of `control_api statements`. */
interface StatementSample {
  readonly database: string;
  readonly location: string;
  /** `null`: several roles have run it. */
  readonly role: string | null;
  readonly calls: number;
  readonly errors: number;
  readonly rows: number;
  readonly total_ms: number;
  readonly max_ms: number;
  readonly sql: string;
}

/** A response of `control_api statements`. */
interface StatementReport {
  /** Of all statements, also of those that are not listed. */
  readonly total_ms: number;
  readonly statements: readonly StatementSample[];
}

/** A reading of the statements of all workers. */
export interface StatementSamples extends StatementReport {
  /** There are no others. */
  readonly isWhole: boolean;
}

/** A statement, since the start of the workers; `perSecond`: its calls in the interval. */
export interface StatementFacts extends Pick<
  StatementSample,
  'database' | 'location' | 'role' | 'calls' | 'errors' | 'rows' | 'sql'
> {
  readonly perSecond: number;
  readonly meanSeconds: number;
  readonly maxSeconds: number;
  /** Part of the time of all statements. */
  readonly share: number;
}

/** Reads so many statements. `undefined`: the gateway, or whatever is at the address, does not show them. */
export async function askStatements(
  target: ControlTarget | string,
  limit: number,
): Promise<StatementSamples | undefined> {
  if (typeof target === 'string') return undefined;
  const { status, body } = await callControl(target, { query: { limit: String(limit) } });
  if (status !== 200) return undefined;
  try {
    const read = JSON.parse(body) as Partial<StatementReport> | null;
    const { statements, total_ms: totalMs = 0 } = read ?? {};
    if (!Array.isArray(statements)) return undefined;
    return { total_ms: totalMs, statements, isWhole: statements.length < limit };
  } catch {
    return undefined;
  }
}

/** What ran between two readings, and before. */
export function statementsBetween(
  before: StatementSamples | undefined,
  now: StatementSamples,
  seconds: number,
): readonly StatementFacts[] {
  const keyOf = ({ database, location, sql }: StatementSample): string =>
    JSON.stringify([database, location, sql]);
  const earlier = new Map(before?.statements.map((one) => [keyOf(one), one.calls]));
  return now.statements.map((one) => {
    const { database, location, role, calls, errors, rows, sql } = one;
    // One that was not among the first before may have run at any time.
    const since = earlier.get(keyOf(one)) ?? (before?.isWhole === false ? calls : 0);
    return {
      database,
      location,
      role,
      calls,
      errors,
      rows,
      sql,
      perSecond: Math.max(0, calls - since) / seconds,
      meanSeconds: calls > 0 ? one.total_ms / calls / 1000 : 0,
      maxSeconds: one.max_ms / 1000,
      share: now.total_ms > 0 ? one.total_ms / now.total_ms : 0,
    };
  });
}

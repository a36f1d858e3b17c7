import type { QueryConfig } from 'pg';
import type { ConnectionTarget } from '../dsn/index.ts';
import { connect } from '../session/index.ts';
import type { WireError } from '../session/index.ts';
import type { LiveFacts } from './facts.ts';
import { LIVE_SQL } from './facts.ts';

/** What is asked of one database. */
export interface Question {
  readonly target: ConnectionTarget;
  readonly anonRole: string | undefined;
  readonly schemas: readonly string[];
}

/** Connects, asks and closes. Why it did not come to that, if so, fit to be shown. Never rejects. */
export async function askDatabase(
  question: Question,
  timeoutMs: number,
): Promise<LiveFacts | { readonly reason: string }> {
  try {
    return await ask(question, timeoutMs);
  } catch (error) {
    return { reason: reasonOf(error as WireError, question.target) };
  }
}

/** JSON has null where the facts have nothing. */
type Answered = Omit<LiveFacts, 'anon'> & { readonly anon: LiveFacts['anon'] | null };

async function ask({ target, anonRole, schemas }: Question, timeoutMs: number): Promise<LiveFacts> {
  const { default: pg } = await import('pg');
  const limited = { ...target, connectTimeoutMs: Math.min(target.connectTimeoutMs, timeoutMs) };
  const query = (text: string, values: unknown[] = []): QueryConfig & { query_timeout: number } => ({
    text,
    values,
    query_timeout: timeoutMs,
  });
  const { client } = await connect(pg, limited, (connected) =>
    connected.query(query(`set default_transaction_read_only = on; set statement_timeout = ${timeoutMs}`)),
  );
  try {
    const { rows } = await client.query<{ facts: string }>(query(LIVE_SQL, [anonRole ?? null, schemas]));
    const { anon, ...facts } = JSON.parse(rows[0]?.facts ?? '{}') as Answered;
    return { ...facts, ...(anon && { anon }) };
  } finally {
    await client.end();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  ENOENT: 'there is no such socket or file',
  EACCES: 'permission denied',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'no answer in time',
};

function reasonOf({ code = '', message }: WireError, { password }: ConnectionTarget): string {
  const known = REASONS[code] ?? (/\btimeout\b/i.test(message) ? REASONS['ETIMEDOUT'] : undefined);
  if (known !== undefined) return known;
  const line = message.split('\n', 1)[0] ?? '';
  return password === undefined || password === '' ? line : line.replaceAll(password, '***');
}

import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { contentRange, rangeStatus } from '../headers/index.ts';
import { type AnswerCounts, type AnswerStart, responseSettings } from '../response/index.ts';
import type { Results } from '../session/index.ts';
import { setHead } from './answer-head.ts';
import type { Asker } from './asker.ts';
import { callWork } from './call-work.ts';
import { compileCallDecision } from './decide-call.ts';
import { rangeHeaders } from './showing.ts';
import { compileTransaction } from './transaction.ts';

/** A `statement_timeout` of none: then only the server and the client end a function. */
const LONGEST_MS = 86_400_000;

/** GET, HEAD and POST of a function: headers, query and body → plan → one batch → answer. */
export function compileCall(
  config: DbrestConfig,
  database: RestDatabase,
): (x: Exchange, name: string, asker: Asker) => Promise<void> {
  const decide = compileCallDecision(config, database);
  const transaction = compileTransaction(config, database);

  return async (x, name, asker) => {
    const { watch } = asker;
    const decided = await decide(x, name, asker);
    if (!decided) return;
    const { asked, preferences, range, media, readOnly, isVoid } = decided;
    const { called } = decided.plan;
    const head = (counts: AnswerCounts, results: Results): AnswerStart => {
      watch?.lap('transaction');
      const total = work.total(counts, sent.counts(results));
      const status = isVoid ? 204 : rangeStatus(range, counts.rows, total);
      const own = isVoid ? [] : rangeHeaders(media, contentRange(range, counts.rows, total));
      const chosen = counts.response ? responseSettings(...counts.response) : sent.responses(results);
      return setHead(x, chosen, { status, config, schema: asked.schema, preferences, own, watch });
    };
    const work = callWork(x, decided, head);
    const { timeoutMs: ownTimeoutMs } = called;
    const sent = transaction(x, { ...asker, asked }, { ...work, readOnly, timeoutMs: ownTimeoutMs });
    const timeoutMs = ownTimeoutMs ?? config.timeoutMs;
    const rules = { ...config, timeoutMs: timeoutMs === 0 ? LONGEST_MS : Math.min(timeoutMs, LONGEST_MS) };
    const { answer } = work;
    const verdict = work.held ? () => answer.judge() : undefined;
    // A volatile function may do what no transaction undoes: it is never asked twice.
    if (readOnly && called.volatility !== 'volatile') await database.read(sent.steps, { reader: x, rules });
    else await database.write(sent.steps, { writer: x, rules, verdict });
    await answer.end();
  };
}

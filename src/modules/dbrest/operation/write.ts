import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { otherKey, tooManyAffected } from '../fault/index.ts';
import type { AnswerCounts, AnswerStart } from '../response/index.ts';
import type { Results } from '../session/index.ts';
import { UPDATED_SQL } from '../sql/index.ts';
import { setHead } from './answer-head.ts';
import type { Asker } from './asker.ts';
import { compileWriteDecision, type DecidedWrite } from './decide-write.ts';
import { isPicky } from './showing.ts';
import { compileTransaction, type Transaction } from './transaction.ts';
import { writeHeaders, writeStatus } from './write-head.ts';
import { shownBy, writeReply } from './write-reply.ts';

const COUNT_UPDATES = { statement: { text: UPDATED_SQL, values: [] } };

/** POST, PUT, PATCH and DELETE of a table: headers, query and body → plan → one batch → answer once it is committed. */
export function compileWrite(
  config: DbrestConfig,
  database: RestDatabase,
): (x: Exchange, table: string, asker: Asker) => Promise<void> {
  const decide = compileWriteDecision(config, database);
  const transaction = compileTransaction(config, database);

  return async (x, table, asker) => {
    const decided = await decide(x, table, asker);
    if (!decided) return;
    const shown = shownBy(decided);
    const counted = shown === 'rows' && isMerge(decided);
    const head = ({ rows }: AnswerCounts, results: Results): AnswerStart => {
      const { watch } = asker;
      watch?.lap('transaction');
      const updated = Number(sent.behind(results)[0]?.[0] ?? 0);
      const place = shown === 'location' ? sent.main(results) : undefined;
      const written = { rows, inserted: rows - updated, place };
      const own = writeHeaders(x, decided, written);
      const chosen = sent.responses(results);
      const status = writeStatus(decided, shown, written);
      const { preferences, asked } = decided;
      return setHead(x, chosen, { status, config, schema: asked.schema, preferences, own, watch });
    };
    const { main, rows, verify, send } = writeReply(x, { decided, shown, counted, head });
    const behind = counted ? [COUNT_UPDATES] : [];
    // A question is no order: `explain (analyze)` would do what it explains.
    const undone = decided.media.plan !== undefined;
    const work = { main, behind, responds: true, undone, held: isJudged(decided), readOnly: false };
    const sent: Transaction = transaction(x, { ...asker, asked: decided.asked }, work);
    const verdict = (results: Results): void => {
      judge(decided, rows(sent.main(results)));
      verify(sent.main(results));
    };
    const rules = { writer: x, rules: config, ...(work.held && { verdict }) };
    const results = await database.write(sent.steps, rules);
    await send(results, sent.main(results));
  };
}

function isMerge({ plan: { write } }: DecidedWrite): boolean {
  return write.kind === 'insert' && write.conflict?.action === 'merge';
}

/** Whether a write can turn out not to be what the client asked for: it is looked at before it is committed. */
function isJudged({ method, preferences, media }: DecidedWrite): boolean {
  if (media.plan) return false;
  return method === 'PUT' || preferences.maxAffected !== undefined || isPicky(media);
}

function judge({ method, preferences }: DecidedWrite, rows: number): void {
  if (method === 'PUT' && rows !== 1) throw otherKey();
  const { maxAffected = Infinity } = preferences;
  if (rows > maxAffected) throw tooManyAffected(rows);
}

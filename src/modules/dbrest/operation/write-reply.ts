import type { Exchange } from '../../../http/index.ts';
import { notSingular } from '../fault/index.ts';
import { type AnswerCounts, type AnswerStart, openAnswer, shapeOf } from '../response/index.ts';
import type { Results, Row, Step } from '../session/index.ts';
import type { ReadPlan } from '../plan/index.ts';
import { locationSql, writeSource, writeSql } from '../sql/index.ts';
import type { DecidedWrite } from './decide-write.ts';
import { isDescribed, shownSql } from './showing.ts';

/** What an answer tells of the rows that were written: nothing, where the one is found, or all that was asked for. */
export type Shown = 'nothing' | 'location' | 'rows';

/** The main statement of a write, and the answer that is made of it. */
export interface WriteReply {
  readonly main: Step;
  /** How many rows were written; `result` is that of the main statement. */
  rows(result: Row | undefined): number;
  /** Throws when what was written cannot be the answer. */
  verify(result: Row | undefined): void;
  /** Once it is committed. */
  send(results: Results, result: Row | undefined): void | Promise<void>;
}

/** What the reply to a write is made with; `head` gives the status and sets the headers. */
export interface ReplyParts {
  readonly decided: DecidedWrite;
  readonly shown: Shown;
  /** Merged rows are counted. */
  readonly counted: boolean;
  readonly head: (counts: AnswerCounts, results: Results) => AnswerStart;
}

/** `Prefer: return=…`; only a new row with a key has a place. */
export function shownBy({ method, preferences, plan, media }: DecidedWrite): Shown {
  if (preferences.return === 'representation' || media.plan) return 'rows';
  const isPlaced = method === 'POST' && plan.write.table.primaryKey.length > 0;
  return isPlaced && preferences.return === 'headers-only' ? 'location' : 'nothing';
}

/** The way in which a write is answered. */
export function writeReply(x: Exchange, parts: ReplyParts): WriteReply {
  return parts.shown === 'rows' ? rowsReply(x, parts) : bareReply(x, parts);
}

function bareReply(x: Exchange, { decided, shown, counted, head }: ReplyParts): WriteReply {
  const { plan, body, media } = decided;
  const rows = (result: Row | undefined): number => Number(result?.[0]);
  const main: Step =
    shown === 'location'
      ? { statement: locationSql(plan.write, { body, counted }) }
      : { statement: writeSql(plan.write, { body, counted }), tally: true };
  return {
    main,
    rows,
    verify(result) {
      if (media.format === 'object' && rows(result) !== 1) throw notSingular(rows(result));
    },
    send(results, result) {
      const { status, contentType = '' } = head({ rows: rows(result) }, results);
      x.send(status, contentType, '');
    },
  };
}

function rowsReply(x: Exchange, { decided, counted, head }: ReplyParts): WriteReply {
  const { plan, body, media, asked } = decided;
  const { write, answer: shown } = plan;
  const isOne = write.kind === 'insert' && write.form === 'object';
  const shape = shapeOf(media, isOne ? 1 : undefined);
  const answer = openAnswer(x, { media, shape, head, held: true });
  const statement = shownSql(
    shown,
    { media, shape, facts: asked.facts },
    {
      total: showsOthers(shown) && !isUnchanging(decided) ? '(select pg_catalog.count(*) from w)' : undefined,
      source: writeSource(plan, { body, counted }),
    },
  );
  return {
    main: { statement, sink: answer, ...(isDescribed(media, shape) && { described: true as const }) },
    rows: () => answer.counts.rows,
    verify: () => answer.judge(),
    send: () => answer.end(),
  };
}

/** Whether what is shown has another number of rows than what was written. */
function showsOthers({ grouped, embeds }: ReadPlan): boolean {
  return grouped || embeds.some(({ inner }) => inner);
}

/** Nothing is written at all: there is no `w`. */
function isUnchanging({ plan: { write } }: DecidedWrite): boolean {
  return write.kind === 'update' && write.columns.length === 0;
}

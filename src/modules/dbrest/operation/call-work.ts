import type { Exchange } from '../../../http/index.ts';
import { offsetBeyond, tooManyAffected } from '../fault/index.ts';
import {
  type AnswerCounts,
  type AnswerParts,
  EmptyAnswer,
  mostRows,
  type OpenAnswer,
  openAnswer,
  shapeOf,
  tailOf,
} from '../response/index.ts';
import type { Results, Step } from '../session/index.ts';
import { type AnswerShape, callSource, guessSql } from '../sql/index.ts';
import { guessed } from './counting.ts';
import type { DecidedCall } from './decide-call.ts';
import { isDescribed, isPicky, shownSql } from './showing.ts';
import type { Work } from './transaction.ts';

/** The statements of a call, and what becomes of their rows. */
export interface CallWork extends Omit<Work, 'readOnly'> {
  readonly answer: OpenAnswer;
  /** The number of rows without their range, where it was asked for; `guesses`: what the counts gave. */
  total(counts: AnswerCounts, guesses: Results): number | undefined;
}

/** One statement that runs the function once, and tells all there is to know of its rows. */
export function callWork(x: Exchange, decided: DecidedCall, head: AnswerParts['head']): CallWork {
  const { plan, media, isVoid, preferences, readOnly, asked, range } = decided;
  const { maxAffected } = preferences;
  const source = callSource(plan);
  const count = media.plan ? undefined : preferences.count;
  const responding = media.format !== 'plan';
  const counted = count === 'exact' || count === 'estimated';
  const shape = callShape(decided);
  const most = mostRows(media.plan?.media ?? media, shape, x.method);
  const values = plan.showsValues ? plan.called.name : undefined;
  const statement = shownSql(
    plan.rows,
    { media, shape, facts: asked.facts },
    { most, source, values, counted, responding },
  );
  const guard = ({ rows, total }: AnswerCounts): void => {
    if (maxAffected !== undefined && rows > maxAffected) throw tooManyAffected(rows);
    if (total !== undefined && range.offset > total) throw offsetBeyond(range.offset, total);
  };
  const answer = isVoid
    ? new EmptyAnswer(x, { head, tail: tailOf(shape, { counted, responding }) })
    : openAnswer(x, { media, shape, head, most, counted, responding, held: !readOnly, guard });
  const main: Step = { statement, sink: answer, ...(isDescribed(media, shape) && { described: true }) };
  const isPlanned = count === 'planned';
  return {
    main,
    counts: isPlanned ? [{ statement: guessSql(plan.rows, source) }] : [],
    held: !readOnly && (isPicky(media) || maxAffected !== undefined || (counted && range.offset > 0)),
    answer,
    total: ({ total }, [guess]) => (isPlanned ? guessed(guess?.[0]) : total),
  };
}

/** What is no set is one value, and not an array. */
function callShape({ plan: { called, rows }, media }: DecidedCall): AnswerShape {
  const shown = media.plan?.media ?? media;
  const shape = shapeOf(shown, rows.limit);
  return !called.returnsSet && (shape === 'whole' || shape === 'rows') && shown.format !== 'geojson'
    ? 'first'
    : shape;
}

import {
  BINARY_OPERATORS,
  boundText,
  decodePiece,
  GRAMMAR,
  isGrouping,
  isOperation,
  parseListText,
  type Content,
  type WrittenBody,
} from '../request/index.ts';
import { arrayLiteral, type BoundValue, type Step, type Work } from '../sql/index.ts';

/** A query without its literals: requests of one shape have the same template. */
export interface Lifted {
  /** The raw query with a mark in place of each literal. */
  readonly template: string;
  /** The literals as they are bound. */
  readonly literals: readonly string[];
}

/** Begins a mark. No query with NUL, plain or encoded, is lifted, so that nothing in it looks like a mark. */
const MARK = '\0';
const CAN_LOOK_LIKE_MARK = /\0|%00/;
/** The mark of a text, and the array literal with the mark of a list. */
const MARKED = /^(?:\0text(\d+)|\{"\0list(\d+)"\})$/;

/** The index of the literal that a bound value stands for, or `undefined`. Throws for a mark within a text. */
function literalOf(value: string): number | undefined {
  if (!value.includes(MARK)) return undefined;
  const [, text, list] = MARKED.exec(value) ?? [];
  const index = text ?? list;
  if (index === undefined) throw new Error('a literal is only a part of a bound value');
  return Number(index);
}

/** Longer queries, and queries with more literals, are not worth the memory. */
const LONGEST_QUERY = 2_048;
const MOST_LITERALS = 100;
const NOTHING_LIFTED: Lifted = { template: '', literals: [] };
const CODED = /[%+]/;
const OPERATOR = /^(?:not\.)?([a-z]+)\./;
/** The same behind an aggregate, in a filter of groups. */
const GROUP_OPERATOR = /^[^()]*\(\)\.(?:not\.)?([a-z]+)\./;

/**
 * Lifts the operands of filters and the arguments of calls out of a raw query. Everything else stays in the template,
 * for a plan may depend on it. Returns `undefined` for a query that is too large or has a fault.
 */
export function liftLiterals(args: string): Lifted | undefined {
  if (args === '') return NOTHING_LIFTED;
  if (args.length > LONGEST_QUERY || CAN_LOOK_LIKE_MARK.test(args)) return undefined;
  const literals: string[] = [];
  let template = '';
  try {
    for (const piece of args.split('&')) {
      template += `${template === '' ? '' : '&'}${withoutLiteral(piece, literals)}`;
    }
  } catch {
    return undefined;
  }
  return literals.length > MOST_LITERALS ? undefined : { template, literals };
}

/** Replaces the literal of a parameter, if any, by a mark, and adds it to `literals`. Throws a `DbrestFault`. */
function withoutLiteral(piece: string, literals: string[]): string {
  const equals = piece.indexOf('=');
  const name = piece.slice(0, Math.max(equals, 0));
  if (name === '' || CODED.test(name) || GRAMMAR.test(name)) return piece;
  const value = decodePiece(piece.slice(equals + 1), piece);
  const isGroup = isGrouping(name, value);
  const [prefix = '', operator = ''] = (isGroup ? GROUP_OPERATOR : OPERATOR).exec(value) ?? [];
  const start = `${name}=${isGroup ? encodeURIComponent(prefix) : prefix}`;
  const number = literals.length;
  if (BINARY_OPERATORS.has(operator)) {
    literals.push(boundText(operator, value.slice(prefix.length)));
    return `${start}${MARK}text${number}`;
  }
  if (operator === 'in') {
    literals.push(arrayLiteral(parseListText(value.slice(prefix.length))));
    return `${start}(${MARK}list${number})`;
  }
  if (isGroup || isOperation(value)) return piece;
  literals.push(value);
  return `${name}=${MARK}text${number}`;
}

/** The values that a request binds in place of marks. */
interface Filling {
  readonly literals: readonly string[];
  readonly content: Content;
}

/** The index of a bound value, and what it is filled with: a literal by its index, or the body. */
type Hole = readonly [value: number, filling: number | 'body'];

/** A step, and the values that differ between requests. */
interface StepTemplate {
  readonly step: Step;
  readonly holes: readonly Hole[];
}

/** The statements of a plan, with marks for the values that differ between requests of one shape. */
export class WorkTemplate {
  readonly #work: Work;
  readonly #main: StepTemplate;
  readonly #counts: readonly StepTemplate[];

  /** `work` is that of a marked query and a marked content. Throws if a mark is not bound as it is. */
  constructor(work: Work, literals: number) {
    this.#work = work;
    this.#main = templateOf(work.main);
    this.#counts = work.counts.map(templateOf);
    const filled = new Set([this.#main, ...this.#counts].flatMap(({ holes }) => holes.map(([, by]) => by)));
    // A literal that is not bound may have decided something else.
    for (let i = 0; i < literals; i += 1) if (!filled.delete(i)) throw new Error('a literal is not bound');
    filled.delete('body');
    if (filled.size > 0) throw new Error('a mark stands for no literal');
  }

  /** The work with the values of a request. */
  filledWith({ literals, content }: Filling): Work {
    const fill = ({ step, holes }: StepTemplate): Step => {
      if (holes.length === 0) return step;
      const values = [...step.statement.values];
      for (const [at, by] of holes) values[at] = by === 'body' ? bodyOf(content) : (literals[by] as string);
      return { ...step, statement: { text: step.statement.text, values } };
    };
    const counts = this.#counts.length === 0 ? this.#work.counts : this.#counts.map(fill);
    return { ...this.#work, counts, main: fill(this.#main) };
  }
}

function templateOf(step: Step): StepTemplate {
  const holes = step.statement.values.flatMap((value, at): Hole[] => {
    if (value === null) return [];
    if (typeof value === 'string') {
      const literal = literalOf(value);
      return literal === undefined ? [] : [[at, literal]];
    }
    if (value !== BODY_MARK) throw new Error('bytes that are made of literals');
    return [[at, 'body']];
  });
  return { step, holes };
}

/** Stands for the bytes of a body. It is not empty, because an empty body is treated differently. */
const BODY_MARK = Buffer.from('\0');

/** A content with a mark in place of its bytes, so that a plan neither depends on them nor keeps them in memory. */
export function markedContent(content: Content): Content {
  switch (content.kind) {
    case 'none':
      return content;
    case 'rows':
      return { kind: 'rows', rows: withoutValues(content.rows) };
    case 'input':
      if (content.input.kind === 'texts' || content.input.body.length === 0) return content;
      return { kind: 'input', input: { ...content.input, body: BODY_MARK } };
  }
}

function withoutValues(body: WrittenBody): WrittenBody {
  const { nested: _, ...rows } = body;
  return { ...rows, json: BODY_MARK };
}

/** The bytes of a content as they are bound; null for a content without bytes. */
function bodyOf(content: Content): BoundValue {
  switch (content.kind) {
    case 'none':
      return null;
    case 'rows':
      return content.rows.json;
    case 'input':
      return content.input.kind === 'texts' ? null : content.input.body;
  }
}

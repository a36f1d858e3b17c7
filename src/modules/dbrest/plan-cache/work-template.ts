import type { Content, WrittenBody } from '../request/index.ts';
import type { BoundValue, Step, Work } from '../sql/index.ts';
import { literalOf } from './literals.ts';

/** What a request binds in place of marks. */
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

/** The bytes of a content as they are bound; null if there are none. */
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

import { buildConfig, formatConfig } from '../../grammar/index.ts';
import type { Statement } from '../../grammar/index.ts';

const INDENT = '    ';

/** What the numbering of lines is shared by: a comment that has the line of a directive would stand behind it. */
interface Counter {
  line: number;
}

/** A block of a configuration that is being written. */
export class Draft {
  readonly statements: Statement[] = [];
  readonly #counter: Counter;

  constructor(counter: Counter = { line: 0 }) {
    this.#counter = counter;
  }

  /** A directive without a block. */
  add(directive: string, ...args: readonly string[]): void {
    this.statements.push({ directive, args, line: ++this.#counter.line });
  }

  comment(text: string): void {
    this.statements.push({ directive: '#', args: [], comment: ` ${text}`, line: ++this.#counter.line });
  }

  block(directive: string, args: readonly string[], fill: (inner: Draft) => void): void {
    const line = ++this.#counter.line;
    const inner = new Draft(this.#counter);
    fill(inner);
    this.statements.push({ directive, args, block: inner.statements, line });
  }
}

/** The text of a draft as `gw fmt` writes it. */
export function draftText({ statements }: Draft): string {
  const text = buildConfig(statements, { indent: INDENT });
  return formatConfig({ name: 'imported', text }, { indent: INDENT });
}

/** What became of the settings of another program's configuration. */
export interface Imported {
  readonly draft: Draft;
  /** Settings that have no counterpart; the comments say why. */
  readonly notCarried: readonly string[];
  /** Environment variables that hold secrets now, and what each is. */
  readonly secrets: readonly { readonly variable: string; readonly of: string }[];
}

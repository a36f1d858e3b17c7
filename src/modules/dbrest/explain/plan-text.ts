import type { RowSink } from '../session/index.ts';
import { BEGIN, ROLLBACK, type Statements, type Step } from '../sql/index.ts';

/** Characters of a plan that are shown. */
const MOST_CHARACTERS = 32_768;

/** Receives the lines of `explain`. */
export class PlanText implements RowSink {
  readonly #lines: string[] = [];
  #characters = 0;

  get text(): string {
    return this.#lines.join('\n');
  }

  begin(): void {
    this.#lines.length = 0;
    this.#characters = 0;
  }

  columns(): void {
    // The only column is a line of text.
  }

  row([line]: readonly (string | null)[]): undefined {
    if (this.#characters > MOST_CHARACTERS) return;
    this.#lines.push(line ?? '');
    this.#characters += (line ?? '').length;
    if (this.#characters > MOST_CHARACTERS) this.#lines.push('…');
  }
}

/** The steps that explain the main statement of a request in its transaction; with `measured` it runs. */
export function explainSteps(
  { before, main, settingsAt }: Statements,
  { measured, sink }: { measured: boolean; sink: PlanText },
): readonly (Step & { readonly sink?: RowSink })[] | undefined {
  // The request itself may ask for the plan.
  if (main.statement.text.startsWith('explain ')) return undefined;
  const { text, values } = main.statement;
  const statement = { text: `explain (${measured ? 'analyze, ' : ''}format text) ${text}`, values };
  const first = measured ? before : before.slice(0, settingsAt + 1);
  const begun = first[0]?.statement.text === BEGIN.statement.text ? first : [BEGIN, ...first];
  return [...begun, { statement, sink }, ROLLBACK];
}

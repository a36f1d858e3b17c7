import { isSecretName, MASK } from '../../../log/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { RoleSettings } from '../schema/index.ts';
import type { RowSink } from '../session/index.ts';
import {
  BEGIN,
  type BoundValue,
  ROLLBACK,
  type Statement,
  type Statements,
  type Step,
} from '../sql/index.ts';

/** Characters of a plan that are shown. */
const LONGEST_PLAN = 32_768;

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
    if (this.#characters > LONGEST_PLAN) return;
    this.#lines.push(line ?? '');
    this.#characters += (line ?? '').length;
    if (this.#characters > LONGEST_PLAN) this.#lines.push('…');
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

/** A member of an object of JSON, such as the headers and cookies that are passed to the database. */
const MEMBER = /("([^"\\]+)":"(?:\w+ )?)(?:[^"\\]|\\.)*/g;
/** Characters of a value that are shown. */
const LONGEST_VALUE = 4_096;

/** The values of a statement as SQL shows them; the token, logins and settings of configuration and role are masked. */
export function maskedValues(
  { values }: Statement,
  { identity, config, roleSettings }: Masking,
): readonly string[] {
  const hidden = new Set([
    ...(config.settings ?? []).map(({ value }) => value),
    ...(roleSettings?.values ?? []),
    ...(identity.jwt === '' ? [] : [identity.jwt]),
  ]);
  return values.map((value) => {
    if (typeof value === 'string' && hidden.has(value)) return `'${MASK}'`;
    const text = valueText(value).replace(MEMBER, (member: string, before: string, name: string) =>
      isSecretName(name) ? `${before}${MASK}` : member,
    );
    const masked = identity.jwt === '' ? text : text.replaceAll(identity.jwt, MASK);
    return masked.length > LONGEST_VALUE ? `${masked.slice(0, LONGEST_VALUE)}…` : masked;
  });
}

/** The sources of secrets that must not be shown. */
export interface Masking {
  readonly identity: Identity;
  readonly config: Pick<DbrestConfig, 'settings'>;
  readonly roleSettings: RoleSettings | undefined;
}

function valueText(value: BoundValue): string {
  if (value === null) return 'null';
  const bytes = typeof value === 'string' ? value : Buffer.concat([value].flat()).toString();
  return `'${bytes.replaceAll("'", "''")}'`;
}

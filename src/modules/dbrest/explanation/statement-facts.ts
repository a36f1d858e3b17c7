import type { Fact } from '../../../contract/index.ts';
import type { Identity } from '../auth/index.ts';
import type { Step } from '../session/index.ts';
import type { BoundValue } from '../sql/index.ts';

const MASK = '***';
/** `"authorization":"Bearer …"` among the headers that the database is told. */
const LOGIN = /("(?:proxy-)?authorization":"\w+ )(?:[^"\\]|\\.)*/g;

/** Statements in their order, each with its parameters behind it. Whoever reads them learns no token. */
export function statementFacts(steps: readonly Step[], { jwt }: Identity): readonly Fact[] {
  const masked = (text: string): string =>
    (jwt === '' ? text : text.replaceAll(jwt, MASK)).replace(LOGIN, `$1${MASK}`);
  return steps.flatMap(({ statement: { text, values } }) => [
    { label: 'sql', value: text.trim() },
    ...values.map((value, index) => ({
      label: 'parameter',
      value: `$${index + 1} = ${masked(valueText(value))}`,
    })),
  ]);
}

function valueText(value: BoundValue): string {
  if (value === null) return 'null';
  const bytes = typeof value === 'string' ? value : Buffer.concat([value].flat()).toString();
  return `'${bytes.replaceAll("'", "''")}'`;
}

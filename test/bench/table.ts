import type { Finding } from './row.ts';

const COLUMNS = [
  ['row', 'subject'],
  ['result', 'result'],
  ['goal', 'goal'],
  ['aim', 'aim'],
  ['verdict', 'verdict'],
  ['gw: rate, CPU per request', 'gw'],
  ['peer', 'peer'],
  ['note', 'note'],
] as const satisfies readonly (readonly [string, keyof Finding])[];

/** The lines as aligned columns. */
export function renderTable(findings: readonly Finding[]): string {
  const headings = COLUMNS.map(([heading]) => heading);
  const lines = findings.map((finding) => COLUMNS.map(([, field]) => finding[field]));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  const render = (line: readonly string[]) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, rule, ...lines].map(render).join('\n');
}

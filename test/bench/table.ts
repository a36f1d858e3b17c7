import type { Finding } from './row.ts';

const HEADINGS = ['row', 'result', 'goal', 'verdict', 'note'];

/** The lines as aligned columns. */
export function renderTable(findings: readonly Finding[]): string {
  const cells = [
    HEADINGS,
    ...findings.map(({ subject, result, goal, verdict, note }) => [subject, result, goal, verdict, note]),
  ];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? '').length)));
  const rule = widths.map((width) => '-'.repeat(width));
  const render = (line: readonly string[]) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [render(HEADINGS), render(rule), ...cells.slice(1).map(render)].join('\n');
}

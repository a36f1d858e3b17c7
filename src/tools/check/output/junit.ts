import { printable } from '../../../../grammar/index.ts';
import { groupBy } from '../../../config/index.ts';
import { escapeMarkup } from '../../../http/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import { type CheckReport, fileOf, rangeOf } from './report.ts';

type Case = Finding | SuppressedFinding;

/** The report as JUnit XML: a suite per file, a case per finding, and a passing case for a file without findings. */
export function junit({ findings, suppressed, files }: CheckReport): string {
  const byFile = groupBy([...findings, ...suppressed] as readonly Case[], fileOf);
  const suites = [...new Set([...files, ...byFile.keys()])].map((file) => ({
    file,
    cases: byFile.get(file) ?? [],
  }));
  const all = suites.map(({ cases }) => countsOf(cases));
  const sum = (pick: (counts: Counts) => number): number =>
    all.reduce((total, each) => total + pick(each), 0);
  const totals = {
    name: 'gw check',
    tests: sum(({ tests }) => tests),
    failures: sum(({ failures }) => failures),
    skipped: sum(({ skipped }) => skipped),
    errors: 0,
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes(totals)}>`,
    ...suites.flatMap(suiteLines),
    '</testsuites>\n',
  ].join('\n');
}

interface Counts {
  readonly tests: number;
  readonly failures: number;
  readonly skipped: number;
}

function countsOf(cases: readonly Case[]): Counts {
  return {
    tests: Math.max(1, cases.length),
    failures: cases.filter(isFailure).length,
    skipped: cases.filter((each) => 'suppression' in each).length,
  };
}

/** Findings of severity info are not failures. */
function isFailure(finding: Case): boolean {
  return finding.severity !== 'info' && !('suppression' in finding);
}

function suiteLines({ file, cases }: { file: string; cases: readonly Case[] }): readonly string[] {
  const passing = `    <testcase${attributes({ name: 'no findings', classname: file })}/>`;
  return [
    `  <testsuite${attributes({ name: file, ...countsOf(cases), errors: 0 })}>`,
    ...(cases.length === 0 ? [passing] : cases.flatMap(caseLines)),
    '  </testsuite>',
  ];
}

function caseLines(finding: Case): readonly string[] {
  const { rule, slug, severity, message, hint, span } = finding;
  const file = fileOf(finding);
  const { line, column } = span ? rangeOf(span) : {};
  const where = line === undefined ? file : `${file}:${line}:${column}`;
  const name = `${rule} ${slug}${line === undefined ? '' : ` at ${line}:${column}`}`;
  const text = escaped(`${where} ${message}${hint === undefined ? '' : `\n${hint}`}`);
  const inside =
    'suppression' in finding
      ? `<skipped${attributes({ message: finding.suppression.reason })}/>`
      : severity === 'info'
        ? `<system-out>${text}</system-out>`
        : `<failure${attributes({ message, type: severity })}>${text}</failure>`;
  return [
    `    <testcase${attributes({ name, classname: file, file, line })}>`,
    `      ${inside}`,
    '    </testcase>',
  ];
}

function attributes(values: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${escaped(String(value)).replaceAll('\n', '&#10;')}"`)
    .join('');
}

/** Escapes a text; control characters that XML cannot represent are replaced. */
function escaped(text: string): string {
  return text
    .split('\n')
    .map((line) => escapeMarkup(printable(line)))
    .join('\n');
}

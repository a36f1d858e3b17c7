import type { RuleSeverity } from '../rule.ts';
import type { CheckReport } from './check-report.ts';
import { fileOf, rangeOf } from './range.ts';

const COMMANDS: Readonly<Record<RuleSeverity, string>> = {
  error: 'error',
  warning: 'warning',
  info: 'notice',
};

/** Workflow commands of GitHub Actions: annotations beside the lines of a pull request. */
export function github({ findings }: CheckReport): string {
  const lines = findings.map((finding) => {
    const { span, severity, rule, slug, message, hint } = finding;
    const { line, column, endLine, endColumn } = span ? rangeOf(span) : {};
    // Columns count only within one line, and their end is inclusive.
    const columns = endLine === line && column !== undefined && endColumn !== undefined;
    const properties = {
      file: fileOf(finding),
      line,
      endLine,
      ...(columns && { col: column, endColumn: Math.max(column, endColumn - 1) }),
      title: `${rule} ${slug}`,
    };
    const text = hint === undefined ? message : `${message}\n${hint}`;
    return `::${COMMANDS[severity]} ${propertiesText(properties)}::${escaped(text)}\n`;
  });
  return lines.join('');
}

function propertiesText(properties: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escaped(String(value)).replace(/:/g, '%3A').replace(/,/g, '%2C')}`)
    .join(',');
}

function escaped(text: string): string {
  return text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
}

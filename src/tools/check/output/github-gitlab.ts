import type { RuleSeverity } from '../../../contract/index.ts';
import { type CheckReport, fileOf, rangeOf, relativeTo } from './report.ts';

const GITHUB_COMMANDS: Readonly<Record<RuleSeverity, string>> = {
  error: 'error',
  warning: 'warning',
  info: 'notice',
};

/** Workflow commands of GitHub Actions: annotations beside the lines of a pull request. */
export function github({ findings }: CheckReport): string {
  const lines = findings.map((finding) => {
    const { span, severity, rule, slug, message, hint } = finding;
    const { line, column, endLine, endColumn } = span ? rangeOf(span) : {};
    // GitHub takes columns only within one line, with an inclusive end.
    const columns = endLine === line && column !== undefined && endColumn !== undefined;
    const properties = {
      file: fileOf(finding),
      line,
      endLine,
      ...(columns && { col: column, endColumn: Math.max(column, endColumn - 1) }),
      title: `${rule} ${slug}`,
    };
    const text = hint === undefined ? message : `${message}\n${hint}`;
    return `::${GITHUB_COMMANDS[severity]} ${propertiesText(properties)}::${escapedCommand(text)}\n`;
  });
  return lines.join('');
}

function propertiesText(properties: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) => `${name}=${escapedCommand(String(value)).replace(/:/g, '%3A').replace(/,/g, '%2C')}`,
    )
    .join(',');
}

function escapedCommand(text: string): string {
  return text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
}

const GITLAB_SEVERITIES: Readonly<Record<RuleSeverity, string>> = {
  error: 'critical',
  warning: 'minor',
  info: 'info',
};

/** GitLab's code quality report (docs.gitlab.com, "Code Quality report format"). */
export function gitlab({ findings }: CheckReport, { root }: { readonly root: string }): string {
  const issues = findings.map((finding) => {
    const { span, severity, rule, slug, message, fingerprint = '' } = finding;
    const path = relativeTo(root, fileOf(finding));
    const { line, endLine } = span ? rangeOf(span) : { line: 1, endLine: 1 };
    return {
      description: `${rule} ${slug}: ${message}`,
      check_name: rule,
      // The path is included because GitLab keeps one issue for each fingerprint.
      fingerprint: `${fingerprint}:${path}`,
      severity: GITLAB_SEVERITIES[severity],
      location: { path, lines: { begin: line, end: endLine } },
    };
  });
  return `${JSON.stringify(issues, undefined, 2)}\n`;
}

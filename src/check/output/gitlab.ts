import type { RuleSeverity } from '../rule.ts';
import type { CheckReport } from './check-report.ts';
import { relativeTo } from './paths.ts';
import { fileOf, rangeOf } from './range.ts';

const SEVERITIES: Readonly<Record<RuleSeverity, string>> = {
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
      // Two files may say the same thing; GitLab keeps one issue for a fingerprint.
      fingerprint: `${fingerprint}:${path}`,
      severity: SEVERITIES[severity],
      location: { path, lines: { begin: line, end: endLine } },
    };
  });
  return `${JSON.stringify(issues, undefined, 2)}\n`;
}

import type { ReportingDescriptor } from 'sarif';
import type { Example, Rule, RuleSeverity } from '../rule.ts';
import { RULES } from '../rules/index.ts';

/** GitHub sorts alerts by it, as by CVSS. */
const SECURITY_SEVERITY: Readonly<Record<RuleSeverity, string>> = {
  error: '8.0',
  warning: '5.0',
  info: '2.0',
};

/** What is decided on the loaded configuration is exact; advice is a matter of taste. */
const PRECISION: Readonly<Record<RuleSeverity, string>> = {
  error: 'very-high',
  warning: 'high',
  info: 'medium',
};

/** SARIF's names of the severities. */
export const LEVELS: Readonly<Record<RuleSeverity, 'error' | 'warning' | 'note'>> = {
  error: 'error',
  warning: 'warning',
  info: 'note',
};

const SUBJECTS: Readonly<Record<string, string>> = {
  1: 'loading',
  2: 'routing',
  3: 'security',
  4: 'proxying',
  5: 'tls',
  6: 'dbrest',
  7: 'kv',
  8: 'events',
  9: 'operations',
};

const HOLES = new Set(['security', 'proxying', 'tls', 'dbrest', 'kv', 'events']);

/** A name, not an address: what there is to read is in `help`, and `gw why` prints it. */
const HELP = 'urn:gw:rule:';

/** The rules with one of these ids as SARIF describes them, in the order of the ids. */
export function ruleDescriptors(ids: ReadonlySet<string>): readonly ReportingDescriptor[] {
  return RULES.filter(({ id }) => ids.has(id)).map((rule) => {
    const { id, slug, severity, summary, why, fix, off } = rule;
    const subject = SUBJECTS[id.slice(2, 3)] ?? 'operations';
    return {
      id,
      name: slug,
      shortDescription: { text: summary },
      fullDescription: { text: why },
      help: { text: `${why}\n\n${fix}`, markdown: markdownOf(rule) },
      helpUri: `${HELP}${id}`,
      defaultConfiguration: { level: LEVELS[severity], enabled: off !== true },
      properties: {
        precision: PRECISION[severity],
        'security-severity': SECURITY_SEVERITY[severity],
        tags: [...new Set(HOLES.has(subject) ? ['security', subject] : [subject])],
      },
    };
  });
}

/** A rule as Markdown: what it finds, why, how to mend it, and both examples. */
export function markdownOf({ id, slug, summary, why, fix, bad, good }: Rule): string {
  return [
    `**${id} ${slug}**: ${summary}.`,
    why,
    fix,
    `Bad:\n\n${exampleText(bad)}`,
    `Good:\n\n${exampleText(good)}\n`,
  ].join('\n\n');
}

function exampleText({ text }: Example): string {
  return `\`\`\`nginx\n${text}\n\`\`\``;
}

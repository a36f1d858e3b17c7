import type {
  ArtifactLocation,
  Fix,
  Location,
  Log,
  Region,
  ReportingDescriptor,
  Result,
  Suppression,
} from 'sarif';
import type { Span } from '../../../../grammar/index.ts';
import type { Example, Rule, RuleSeverity } from '../../../contract/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import { type CheckReport, directoryUri, fileOf, rangeOf, uriOf } from './report.ts';
import { shownFix } from './shown-fix.ts';

/** Scores by which GitHub sorts alerts, on the scale of CVSS. */
const SECURITY_SEVERITY: Readonly<Record<RuleSeverity, string>> = {
  error: '8.0',
  warning: '5.0',
  info: '2.0',
};

/** Precision by severity: findings on the loaded configuration are exact, except for advice. */
const PRECISION: Readonly<Record<RuleSeverity, string>> = {
  error: 'very-high',
  warning: 'high',
  info: 'medium',
};

/** SARIF's names of the severities. */
const LEVELS: Readonly<Record<RuleSeverity, 'error' | 'warning' | 'note'>> = {
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

/** A name, not an address: the text is in `help`, and `gw why` prints it. */
const HELP = 'urn:gw:rule:';

/** The rules as descriptors of SARIF. */
function ruleDescriptors(rules: readonly Rule[]): readonly ReportingDescriptor[] {
  return rules.map((rule) => {
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

/** A rule as Markdown: summary, reason, fix and examples. */
function markdownOf({ id, slug, summary, why, fix, bad, good }: Rule): string {
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

/** Options of `sarif`. */
interface SarifOptions {
  readonly root: string;
  readonly version: string;
}

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';
const ROOT = 'SRCROOT';

const KINDS: Readonly<Record<SuppressedFinding['suppression']['by'], Suppression['kind']>> = {
  comment: 'inSource',
  configuration: 'external',
  baseline: 'external',
};

/** The report as SARIF 2.1.0 (OASIS) for GitHub's code scanning. */
export function sarif(report: CheckReport, { root, version }: SarifOptions): string {
  const results = new Results(report, root);
  const log: Log = {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: { name: 'gw', semanticVersion: version, version, rules: [...results.rules] },
        },
        originalUriBaseIds: { [ROOT]: { uri: directoryUri(root) } },
        columnKind: 'unicodeCodePoints',
        artifacts: report.files.map((name) => ({ location: results.artifact(name) })),
        results: [...report.findings, ...report.suppressed].map((finding) => results.result(finding)),
      },
    ],
  };
  return `${JSON.stringify(log, undefined, 2)}\n`;
}

class Results {
  /** Only rules with findings, because all rules would be most of the text. */
  readonly rules: readonly ReportingDescriptor[];
  readonly #report: CheckReport;
  readonly #root: string;
  readonly #ruleIndex: ReadonlyMap<string, number>;

  constructor(report: CheckReport, root: string) {
    this.#report = report;
    this.#root = root;
    this.rules = ruleDescriptors(report.rules);
    this.#ruleIndex = new Map(this.rules.map(({ id }, index) => [id, index]));
  }

  result(finding: Finding | SuppressedFinding): Result {
    const { rule, severity, message, hint, label, span, related = [], fingerprint } = finding;
    const fix = shownFix(finding, this.#report.hidden);
    const text = hint === undefined ? message : `${message}\n${hint}`;
    return {
      ruleId: rule,
      ruleIndex: this.#ruleIndex.get(rule) ?? -1,
      level: LEVELS[severity],
      message: { text },
      locations: [span ? this.#location(span, label) : this.#whole(fileOf(finding))],
      ...(fingerprint !== undefined && { partialFingerprints: { 'gwDirective/v1': fingerprint } }),
      ...(related.length > 0 && {
        relatedLocations: related.map((place, id) => ({ id, ...this.#location(place.span, place.label) })),
      }),
      ...(fix && { fixes: [this.#fix(fix)] }),
      ...('suppression' in finding && {
        suppressions: [
          {
            kind: KINDS[finding.suppression.by],
            status: 'accepted',
            justification: finding.suppression.reason,
          },
        ],
      }),
    };
  }

  artifact(name: string): ArtifactLocation {
    const { uri, isRelative } = uriOf(this.#root, name);
    return { uri, ...(isRelative && { uriBaseId: ROOT }) };
  }

  #location(span: Span, text?: string): Location {
    return {
      physicalLocation: { artifactLocation: this.artifact(span.source.name), region: regionOf(span) },
      ...(text !== undefined && { message: { text } }),
    };
  }

  #whole(file: string): Location {
    return { physicalLocation: { artifactLocation: this.artifact(file) } };
  }

  #fix({ title, edits }: NonNullable<Finding['fix']>): Fix {
    const names = [...new Set(edits.map(({ span }) => span.source.name))];
    return {
      description: { text: title },
      artifactChanges: names.map((name) => ({
        artifactLocation: this.artifact(name),
        replacements: edits
          .filter(({ span }) => span.source.name === name)
          .map(({ span, text }) => ({ deletedRegion: regionOf(span), insertedContent: { text } })),
      })),
    };
  }
}

function regionOf(span: Span): Region {
  const { line, column, endLine, endColumn } = rangeOf(span);
  return { startLine: line, startColumn: column, endLine, endColumn };
}

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
import type { Span } from '../../../grammar/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import type { CheckReport } from './check-report.ts';
import { directoryUri, uriOf } from './paths.ts';
import { fileOf, rangeOf } from './range.ts';
import { LEVELS, ruleDescriptors } from './sarif-rules.ts';
import { shownFix } from './shown-fix.ts';

/** Where relative names start from, and who found it. */
export interface SarifOptions {
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

/** SARIF 2.1.0 (OASIS), as GitHub's code scanning reads it. */
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
  /** Only those that found something: all of them would be most of the text. */
  readonly rules: readonly ReportingDescriptor[];
  readonly #report: CheckReport;
  readonly #root: string;
  readonly #ruleIndex: ReadonlyMap<string, number>;

  constructor(report: CheckReport, root: string) {
    this.#report = report;
    this.#root = root;
    this.rules = ruleDescriptors(new Set([...report.findings, ...report.suppressed].map(({ rule }) => rule)));
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

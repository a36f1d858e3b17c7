import type {
  ConfigTree,
  DirectiveNode,
  Fault,
  Report,
  Severity,
  Source,
  Span,
} from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import type { CheckedConfig, Problem, Rule, RuleSeverity } from '../contract/index.ts';
import type { Finding, SuppressedFinding } from './finding.ts';
import type { Catalogue } from './catalogue.ts';
import { fingerprintsOf } from './fingerprints.ts';
import { isIgnored, isSelected, type Selection } from './selection.ts';
import { suppress } from './suppress.ts';

const SEVERITIES: Readonly<Record<Severity, RuleSeverity>> = {
  emerg: 'error',
  warn: 'warning',
  notice: 'info',
};

/** A fault that names no rule is about a value. */
const UNNAMED_RULE = 'bad-value';

/** What the load found, by rules. */
export function findingsOfLoad({ faults }: Report, catalogue: Catalogue): readonly Finding[] {
  return faults.map((fault) => findingOf(fault, catalogue));
}

function findingOf({ severity, rule = UNNAMED_RULE, ...fault }: Fault, catalogue: Catalogue): Finding {
  const { id, slug } = catalogue.named(rule) ?? catalogue.known(UNNAMED_RULE);
  return {
    ...fault,
    rule: id,
    slug,
    severity: SEVERITIES[severity],
    ...(severity === 'emerg' && { refuses: true }),
  };
}

/** What rules find. */
export function runRules(config: CheckedConfig, rules: readonly Rule[]): readonly Finding[] {
  return rules.flatMap((rule) => problemsOf(rule, config).map((each) => findingFor(rule, each)));
}

function problemsOf(rule: Rule, config: CheckedConfig): readonly Problem[] {
  try {
    return [...(rule.check?.(config) ?? [])];
  } catch (cause) {
    throw new Error(`rule ${rule.id} failed: ${(cause as Error).message}`, { cause });
  }
}

/** A problem of a rule. */
export function findingFor({ id, slug, severity }: Rule, { at, ...problem }: Problem): Finding {
  return { severity, ...problem, rule: id, slug, span: 'source' in at ? at : headOf(at) };
}

/** From the name of a directive to its last word: carets below a whole block say nothing. */
function headOf({ name, args }: DirectiveNode): Span {
  return { ...name.span, end: (args.at(-1) ?? name).span.end };
}

/** Findings in the order of reading, by source, then by place; each once, however often its file is included. */
function sorted(findings: readonly Finding[], { sources }: Report): readonly Finding[] {
  const ranks = new Map(sources.map((source, index) => [source, index]));
  const rank = ({ span }: Finding): number => (span ? (ranks.get(span.source) ?? sources.length) : -1);
  const start = ({ span }: Finding): number => span?.start ?? 0;
  const seen = new Set<string>();
  return findings
    .filter((finding) => {
      const key = `${rank(finding)} ${start(finding)} ${finding.rule} ${finding.message}`;
      return !seen.has(key) && seen.add(key);
    })
    .toSorted((a, b) => rank(a) - rank(b) || start(a) - start(b) || (a.rule < b.rule ? -1 : 1));
}

/** Which rules to ask. */
export interface ReviewOptions extends Selection {
  /** Only those of this severity; absent: all. */
  readonly severity?: RuleSeverity | undefined;
  /** Those that are off by default too. */
  readonly strict?: boolean | undefined;
  /** Without what the load has found: somebody has said it already. */
  readonly rulesOnly?: boolean | undefined;
  /** Also asks the databases and stores that are configured. */
  readonly live?: boolean | undefined;
  /** Gives each finding its fingerprint. */
  readonly fingerprints?: boolean | undefined;
}

/** What is wrong with a configuration, and what of it somebody has decided to live with. */
export interface Review {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly report: Report;
  /** Every source that was read. */
  readonly sources: readonly Source[];
  /** Absent where the text could not be read. */
  readonly tree: ConfigTree | undefined;
  /** What could have been found. */
  readonly catalogue: Catalogue;
}

/** What there is to judge; `live` is there where databases and stores were asked. */
interface ReviewInput {
  readonly report: Report;
  readonly config: CheckedConfig | undefined;
  readonly catalogue: Catalogue;
  readonly live?: readonly Finding[] | undefined;
}

/** The findings of a load and of the rules, each once, in the order of reading, less what is ignored. */
export function review(
  { report, config, catalogue, live = [] }: ReviewInput,
  options: ReviewOptions = {},
): Review {
  const { severity, strict = false, rulesOnly = false, select, ignore } = options;
  const selections = [{ select, ignore }, ...(config ? selectionsOf(config.main) : [])];
  const isOn = (rule: Rule): boolean =>
    (severity === undefined || rule.severity === severity) && isSelected(rule, selections, strict);
  const isKept = (finding: Finding): boolean => {
    const rule = catalogue.known(finding.rule);
    // What keeps the configuration from loading cannot be deselected: all would seem well.
    return finding.refuses === true ? !isIgnored(rule, selections) : isOn(rule);
  };
  const wasAsked = (rule: Rule): boolean => isOn(rule) && (options.live === true || !rule.live);
  const ofLoad = rulesOnly ? [] : findingsOfLoad(report, catalogue).filter(isKept);
  // A rule may weigh less in one place than in another.
  const ofRules = (config ? runRules(config, catalogue.rules.filter(isOn)) : []).filter(
    (finding) => severity === undefined || finding.severity === severity,
  );
  const ofWorld = live.filter(isKept);
  const { findings, suppressed, faults } = suppress(sorted([...ofLoad, ...ofRules, ...ofWorld], report), {
    sources: report.sources,
    main: config?.main,
    catalogue,
    wasAsked: report.failed || rulesOnly ? () => false : wasAsked,
  });
  const { sources } = report;
  const found = {
    findings: sorted([...findings, ...faults.filter(isKept)], report),
    suppressed,
    report,
    sources,
    tree: config?.tree,
    catalogue,
  };
  return options.fingerprints === true ? withFingerprints(found) : found;
}

/** Those that are ignored count among those of the same words, or the others would change with them. */
function withFingerprints(found: Review): Review {
  const { findings, suppressed, report, tree } = found;
  const all = sorted([...findings, ...suppressed], report);
  const marks = fingerprintsOf(all, { tree, hidden: report.hidden });
  const marked = <T extends Finding>(finding: T): T => {
    const fingerprint = marks.get(finding);
    return fingerprint === undefined ? finding : { ...finding, fingerprint };
  };
  return { ...found, findings: findings.map(marked), suppressed: suppressed.map(marked) };
}

/** `check { select GW3; }`; what the block ignores has a reason, and is looked for among the findings. */
function selectionsOf(main: BlockView): readonly Selection[] {
  return main.inner
    .filter(({ context }) => context === 'check')
    .flatMap((block) => block.own('select').map(({ args }) => ({ select: args.map(({ value }) => value) })));
}

import type {
  ConfigTree,
  DirectiveNode,
  Fault,
  Report,
  Severity,
  Source,
  Span,
} from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import type { CheckedConfig, Problem, Rule, RuleSeverity } from '../../contract/index.ts';
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

/** The rule of a fault without a rule. */
const UNNAMED_RULE = 'bad-value';

/** The faults of a load as findings. */
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

/** The findings of the rules. */
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

/** The finding for a problem that a rule reports. */
export function findingFor({ id, slug, severity }: Rule, { at, ...problem }: Problem): Finding {
  return { severity, ...problem, rule: id, slug, span: 'source' in at ? at : headOf(at) };
}

/** The span from a directive's name to its last word, because carets below a whole block are useless. */
function headOf({ name, args }: DirectiveNode): Span {
  return { ...name.span, end: (args.at(-1) ?? name).span.end };
}

/** Findings in the order of reading, then by place, each once even if its file is included repeatedly. */
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

/** Options of `review`. */
export interface ReviewOptions extends Selection {
  /** Restricts the rules to a severity. */
  readonly severity?: RuleSeverity | undefined;
  /** True: rules that are off by default run as well. */
  readonly strict?: boolean | undefined;
  /** True: findings of the load are left out, because they have been printed. */
  readonly rulesOnly?: boolean | undefined;
  /** True: the configured databases and stores are asked as well. */
  readonly live?: boolean | undefined;
  /** True: findings get fingerprints. */
  readonly fingerprints?: boolean | undefined;
}

/** The findings in a configuration, and the ignored ones. */
export interface Review {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly report: Report;
  /** All sources that were read. */
  readonly sources: readonly Source[];
  /** Absent if the text could not be read. */
  readonly tree: ConfigTree | undefined;
  /** The catalogue of rules. */
  readonly catalogue: Catalogue;
}

/**
 * The blocks with an `include` whose file cannot be read: what a rule finds missing may be in that file. Above servers
 * and upstreams, such files rarely matter to inner blocks.
 */
function incompleteBlocks({ directives }: ConfigTree, { faults }: Report): readonly Span[] {
  const missing = faults.flatMap(({ rule, span }) => (rule === 'include-missing' && span ? span : []));
  const blockAround = (span: Span, nodes: readonly DirectiveNode[]): DirectiveNode | undefined => {
    const block = nodes.find((node) => node.block && isWithin(span, node.span));
    return block && (blockAround(span, block.block ?? []) ?? block);
  };
  return missing.flatMap((span) => {
    const block = blockAround(span, directives);
    return block && block.name.value !== 'http' ? block.span : [];
  });
}

function isWithin({ source, start, end }: Span, around: Span): boolean {
  return source === around.source && around.start <= start && end <= around.end;
}

/** The input of a review; `live` is present if databases and stores were asked. */
interface ReviewInput {
  readonly report: Report;
  readonly config: CheckedConfig | undefined;
  readonly catalogue: Catalogue;
  readonly live?: readonly Finding[] | undefined;
}

/**
 * Reviews a configuration: all findings of load and rules, each once, in the order of reading, without ignored ones.
 */
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
    // A finding that prevents loading cannot be deselected, or the configuration would seem correct.
    return finding.refuses === true ? !isIgnored(rule, selections) : isOn(rule);
  };
  const wasAsked = (rule: Rule): boolean => isOn(rule) && (options.live === true || !rule.live);
  const ofLoad = rulesOnly ? [] : findingsOfLoad(report, catalogue).filter(isKept);
  // A rule may report some findings with a lower severity.
  const incomplete = config ? incompleteBlocks(config.tree, report) : [];
  const ofRules = (config ? runRules(config, catalogue.rules.filter(isOn)) : []).filter(
    (finding) =>
      (severity === undefined || finding.severity === severity) &&
      !incomplete.some((block) => finding.span !== undefined && isWithin(finding.span, block)),
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

/** Ignored findings are included, because they affect the numbering of equal ones. */
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

/** The selections of `check { select GW3; }`. Its `ignore` has a reason and is applied to the findings. */
function selectionsOf(main: BlockView): readonly Selection[] {
  return main.inner
    .filter(({ context }) => context === 'check')
    .flatMap((block) => block.own('select').map(({ args }) => ({ select: args.map(({ value }) => value) })));
}

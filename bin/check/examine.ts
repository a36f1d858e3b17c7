import { existsSync, readFileSync } from 'node:fs';
import { readFileBytes } from '../../grammar/index.ts';
import type { RuleSeverity } from '../../src/contract/index.ts';
import {
  type CheckReport,
  type Finding,
  judgesFragments,
  type Review,
  type SuppressedFinding,
} from '../../src/check/index.ts';
import { type ConfigSource, load, review } from '../../src/pipeline.ts';
import { inEncodingOf, replaceFile } from '../replace-file.ts';
import { failureText } from '../terminal.ts';
import type { Input } from './inputs.ts';
import { type CheckSettings, UsageError } from './settings.ts';

/** The findings that were there when somebody began to check: only new ones count. */
type Baseline = ReadonlySet<string>;

interface BaselineFile {
  readonly version: 1;
  readonly findings: readonly {
    readonly rule: string;
    readonly file: string;
    readonly fingerprint: string;
  }[];
}

/** Reads a baseline; throws a `UsageError` for what is none. */
export function readBaseline(file: string): Baseline {
  return new Set(baselineIn(file).findings.map(({ fingerprint }) => fingerprint));
}

function baselineIn(file: string): BaselineFile {
  const text = textOf(file);
  const { version, findings } = parsed(text) ?? {};
  if (version !== 1 || !Array.isArray(findings)) throw new UsageError(`"${file}" is no baseline of gw check`);
  return { version, findings };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(failureText(error, file), { cause: error });
  }
}

function parsed(text: string): Partial<BaselineFile> | null {
  try {
    return JSON.parse(text) as Partial<BaselineFile> | null;
  } catch {
    return null;
  }
}

/**
 * Keeps what is found now, ignored findings left out: they say themselves why. Throws a `UsageError` rather than replace a file
 * that is no baseline: after `--write-baseline` it was probably meant to be checked.
 */
export function writeBaseline(file: string, { findings }: CheckReport): number {
  if (existsSync(file)) baselineIn(file);
  const kept = findings.filter(({ refuses }) => refuses !== true);
  const value: BaselineFile = {
    version: 1,
    findings: kept.map(({ rule, span, fingerprint = '' }) => ({
      rule,
      file: span?.source.name ?? '',
      fingerprint,
    })),
  };
  replaceFile(file, `${JSON.stringify(value, undefined, 2)}\n`);
  return kept.length;
}

/** What was there before counts as ignored, unless the configuration does not load because of it. */
function withoutKnown(reviewed: Review, baseline: Baseline): Review {
  const isKnown = ({ refuses, fingerprint = '' }: Finding): boolean =>
    refuses !== true && baseline.has(fingerprint);
  const known = reviewed.findings.filter(isKnown).map((finding): SuppressedFinding => ({
    ...finding,
    suppression: { by: 'baseline', reason: 'it was there when the baseline was written' },
  }));
  return {
    ...reviewed,
    findings: reviewed.findings.filter((finding) => !isKnown(finding)),
    suppressed: [...reviewed.suppressed, ...known],
  };
}

/** Texts that take the place of those of the files, by absolute path. */
export type Texts = ReadonlyMap<string, string>;

/** How configurations are examined. */
export interface Examination {
  readonly settings: CheckSettings;
  readonly baseline?: Baseline | undefined;
}

const RANKS: Readonly<Record<RuleSeverity, number>> = { error: 2, warning: 1, info: 0 };

/** Whether a severity is another one or worse. */
export function isAtLeast(severity: RuleSeverity, least: RuleSeverity): boolean {
  return RANKS[severity] >= RANKS[least];
}

/** What is wrong with one configuration, as far as anybody asked. */
export async function examine(
  input: Input,
  { settings, baseline }: Examination,
  texts: Texts = new Map(),
): Promise<Review> {
  const { skipUnsupported, rules, severity } = settings;
  const loaded = load(withTexts(input.source, texts), { advise: true, skipUnsupported });
  const found = withoutWrapper(await review(loaded, rules), input);
  const shown = {
    ...found,
    findings: found.findings.filter((finding) => isAtLeast(finding.severity, severity)),
  };
  return baseline ? withoutKnown(shown, baseline) : shown;
}

function withTexts(source: ConfigSource, texts: Texts): ConfigSource {
  if (texts.size === 0) return source;
  const { confFile, readFile = readFileBytes, text } = source;
  return {
    ...source,
    ...(text !== undefined && { text: texts.get(confFile) ?? text }),
    readFile: (file, maxBytes) => {
      const old = readFile(file, maxBytes);
      const changed = texts.get(file);
      if (changed === undefined) return old;
      return typeof old === 'string' ? changed : inEncodingOf(old, changed);
    },
  };
}

/** Around a piece of configuration stands a text of ours, which nobody wants to hear of. */
function withoutWrapper(found: Review, { fragment }: Input): Review {
  const [wrapper] = found.sources;
  if (fragment === undefined || !wrapper) return found;
  const isOfInterest = ({ span, slug }: Finding): boolean =>
    span?.source !== wrapper && judgesFragments(slug);
  return {
    ...found,
    findings: found.findings.filter(isOfInterest),
    suppressed: found.suppressed.filter(isOfInterest),
    sources: found.sources.slice(1),
  };
}

import { existsSync, readFileSync } from 'node:fs';
import { readFileBytes } from '../../grammar/index.ts';
import type { RuleSeverity } from '../../src/contract/index.ts';
import {
  type CheckReport,
  type Finding,
  judgesFragments,
  type Review,
  type SuppressedFinding,
} from '../../src/tools/check/index.ts';
import { type ConfigSource, load, review } from '../../src/pipeline.ts';
import { inEncodingOf, replaceFile } from '../replace-file.ts';
import { failureText } from '../terminal.ts';
import type { Input } from './inputs.ts';
import { type CheckSettings, UsageError } from './settings.ts';

/** Fingerprints of known findings, which are not reported again. */
type Baseline = ReadonlySet<string>;

interface BaselineFile {
  readonly version: 1;
  readonly findings: readonly {
    readonly rule: string;
    readonly file: string;
    readonly fingerprint: string;
  }[];
}

/** Reads a baseline. Throws a `UsageError` if the file is not a baseline. */
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
 * Writes the current findings as a baseline, without ignored ones, which have their own comment. Throws a `UsageError`
 * rather than replace another file, which was probably named to be checked.
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

/** Moves known findings to the ignored ones, unless they prevent loading. */
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

/** Texts that replace those of files, by absolute path. */
export type Texts = ReadonlyMap<string, string>;

/** Options of `examine`. */
export interface Examination {
  readonly settings: CheckSettings;
  readonly baseline?: Baseline | undefined;
}

const RANKS: Readonly<Record<RuleSeverity, number>> = { error: 2, warning: 1, info: 0 };

/** Tells whether a severity is at least another one. */
export function isAtLeast(severity: RuleSeverity, least: RuleSeverity): boolean {
  return RANKS[severity] >= RANKS[least];
}

/** Returns the findings in one configuration that the options select. */
export async function examine(
  input: Input,
  { settings, baseline }: Examination,
  texts: Texts = new Map(),
): Promise<Review> {
  const { compat, rules, severity } = settings;
  const loaded = load({ ...withTexts(input.source, texts), ...(compat && { compat }) }, { advise: true });
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

/** Returns the findings without those in the generated text around a fragment. */
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

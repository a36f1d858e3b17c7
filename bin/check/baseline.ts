import { existsSync, readFileSync } from 'node:fs';
import type { CheckReport, Finding, Review, SuppressedFinding } from '../../src/check/index.ts';
import { failureText } from '../failure.ts';
import { replaceFile } from '../replace-file.ts';
import { UsageError } from './settings.ts';

/** The findings that were there when somebody began to check: only new ones count. */
export type Baseline = ReadonlySet<string>;

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
export function withoutKnown(reviewed: Review, baseline: Baseline): Review {
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

import { readFileSync } from 'node:fs';
import type { CheckReport, Finding, Review, SuppressedFinding } from '../../src/check/index.ts';
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
  try {
    const { version, findings } = JSON.parse(readFileSync(file, 'utf8')) as Partial<BaselineFile>;
    if (version !== 1 || !Array.isArray(findings)) throw new Error('it is no baseline of version 1');
    return new Set(findings.map(({ fingerprint }) => fingerprint));
  } catch (error) {
    throw new UsageError(`cannot read baseline "${file}": ${(error as Error).message}`, { cause: error });
  }
}

/** Keeps what is found now, ignored findings left out: they say themselves why. */
export function writeBaseline(file: string, { findings }: CheckReport): number {
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

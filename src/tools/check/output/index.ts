import { github, gitlab } from './github-gitlab.ts';
import { json } from './json.ts';
import { junit } from './junit.ts';
import type { CheckReport } from './report.ts';
import { sarif } from './sarif.ts';
import { concise, human } from './text.ts';

export { reportOf, type CheckedFile, type CheckReport, tallyOf, tallyText } from './report.ts';
export type { JsonReport } from './json.ts';

/** Options of the formats. */
export interface FormatOptions {
  readonly color: boolean;
  /** Absolute directory that relative names of files start from. */
  readonly root: string;
  readonly version: string;
}

/** The formats of `gw check -f`. */
export const FORMATS = { human, concise, json, sarif, github, gitlab, junit } as const satisfies Readonly<
  Record<string, (report: CheckReport, options: FormatOptions) => string>
>;

/** A name of one of the formats. */
export type Format = keyof typeof FORMATS;

/** Returns whether there is a format of this name. */
export function isFormat(name: string): name is Format {
  return Object.hasOwn(FORMATS, name);
}

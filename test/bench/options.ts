import { parseArgs } from 'node:util';
import type { Row } from './row.ts';
import { ROWS } from './rows/index.ts';

export interface Options {
  readonly rows: readonly Row[];
  readonly quick: boolean;
  /** File for the absolute numbers. */
  readonly json?: string;
  /** The row whose gateways write CPU profiles. */
  readonly profile?: string;
}

const NAMES = ROWS.map(({ name }) => name).join(' | ');

export const USAGE = `usage: npm run bench -- [options]
  --quick          fewer and shorter rounds: less than a minute
  --only name      one row, may be repeated: ${NAMES}
  --json file      writes the absolute numbers
  --profile name   runs one row only and writes gw's CPU profiles to dist/profiles/<name>/
`;

/** The options, or what is wrong with them. */
export function readOptions(args: string[]): Options | string {
  try {
    const { values } = parseArgs({
      args,
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true },
        json: { type: 'string' },
        profile: { type: 'string' },
      },
    });
    const { quick, json, profile, only = profile === undefined ? undefined : [profile] } = values;
    const unknown = only?.find((name) => !ROWS.some((row) => row.name === name));
    if (unknown !== undefined) return `there is no row "${unknown}"`;
    return {
      rows: ROWS.filter(({ name }) => only?.includes(name) ?? true),
      quick,
      ...(json !== undefined && { json }),
      ...(profile !== undefined && { profile }),
    };
  } catch (error) {
    return (error as Error).message;
  }
}

import { parseArgs } from 'node:util';
import { type Pace, QUICK } from './bench.ts';
import type { Row } from './row.ts';
import { type Group, type GroupName, GROUPS } from './rows/index.ts';

/** A row with the duration of its rounds. */
export interface PacedRow {
  readonly row: Row;
  readonly pace: Pace;
}

/** What is to be measured. */
export interface Run {
  readonly rows: readonly PacedRow[];
  /** The group that is measured as a whole. */
  readonly group?: GroupName;
  /** File for the absolute numbers. */
  readonly json?: string;
  /** The row whose gateways write CPU profiles. */
  readonly profile?: string;
}

export type Options = Run | 'help' | 'picture';

const NAMES = Object.keys(GROUPS) as GroupName[];

const groupText = (name: GroupName): string => {
  const { about, rows } = GROUPS[name];
  const flag = name === 'goals' ? '(default)' : `--${name}`;
  return `  ${flag.padEnd(16)} ${about}:\n    ${rows.map((row) => row.name).join(' ')}`;
};

export const USAGE = `usage: npm run bench -- [group] [options]
Each group is a run of its own, of less than ten minutes:
${NAMES.map(groupText).join('\n')}
Options:
  --only name      rows of any group, may be repeated
  --quick          fewer and shorter rounds
  --json file      writes the absolute numbers; a whole group also writes them to dist/bench/<group>.json
  --picture        measures nothing: draws conf/images/bench.svg from dist/bench/{goals,https}.json
  --profile name   runs one row only and writes gw's CPU profiles to dist/profiles/<name>/
`;

/** The options, or what is wrong with them. */
export function readOptions(args: string[]): Options | { readonly fault: string } {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const { values } = parseArgs({
      args,
      options: {
        growth: flag,
        tails: flag,
        https: flag,
        more: flag,
        quick: flag,
        picture: flag,
        help: flag,
        only: { type: 'string', multiple: true },
        json: { type: 'string' },
        profile: { type: 'string' },
      },
    });
    if (values.help) return 'help';
    if (values.picture) return 'picture';
    const { json, profile, only = profile === undefined ? undefined : [profile] } = values;
    const asked = NAMES.filter((name) => name !== 'goals' && values[name]);
    if (asked.length > 1) return { fault: `one group at a time, not ${asked.join(' and ')}` };
    const group = only === undefined ? (asked[0] ?? 'goals') : undefined;
    const rows = group === undefined ? rowsNamed(only ?? []) : pacedRows(GROUPS[group]);
    if (typeof rows === 'string') return { fault: `there is no row "${rows}"` };
    return {
      rows: values.quick ? rows.map(({ row }) => ({ row, pace: QUICK })) : rows,
      ...(group !== undefined && { group }),
      ...(json !== undefined && { json }),
      ...(profile !== undefined && { profile }),
    };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

const pacedRows = ({ rows, pace }: Group): PacedRow[] => rows.map((row) => ({ row, pace }));

/** The rows with these names, or the first name that no row has. */
function rowsNamed(names: readonly string[]): PacedRow[] | string {
  const all = Object.values(GROUPS).flatMap(pacedRows);
  const unknown = names.find((name) => !all.some(({ row }) => row.name === name));
  return unknown ?? all.filter(({ row }) => names.includes(row.name));
}

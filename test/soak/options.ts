import { parseArgs } from 'node:util';

export type Engine = 'uws' | 'node';

export interface Options {
  readonly minutes: number;
  readonly seed: string;
  readonly engine: Engine;
  /** Actors and happenings that take part; all when absent. */
  readonly only?: readonly string[];
  /** A single turn of one actor instead of a run: `actor:lane:turn`. */
  readonly turn?: { readonly actor: string; readonly lane: number; readonly turn: number };
  /** Directory for the report. */
  readonly report: string;
}

export const USAGE = `usage: npm run soak -- [options]
  --minutes N      how long; default 20
  --seed TEXT      what all decisions follow from; default: the time
  --engine NAME    uws (default) or node
  --only NAME      these actors and happenings only, may be repeated
  --turn A:L:N     nothing but turn N of lane L of actor A: what a violation names
  --report DIR     where soak.json and soak.txt go; default dist/soak
`;

/** The options, or what is wrong with them. */
export function readOptions(args: string[]): Options | string {
  try {
    const { values } = parseArgs({
      args,
      options: {
        minutes: { type: 'string', default: '20' },
        seed: { type: 'string', default: String(Date.now()) },
        engine: { type: 'string', default: 'uws' },
        only: { type: 'string', multiple: true },
        turn: { type: 'string' },
        report: { type: 'string', default: 'dist/soak' },
      },
    });
    const { seed, engine, only, report } = values;
    const minutes = Number(values.minutes);
    if (!(minutes > 0)) return `"${values.minutes}" is no number of minutes`;
    if (engine !== 'uws' && engine !== 'node') return `there is no engine "${engine}"`;
    const turn = values.turn === undefined ? undefined : readTurn(values.turn);
    if (values.turn !== undefined && !turn) return `"${values.turn}" is no actor:lane:turn`;
    return { minutes, seed, engine, report, ...(only && { only }), ...(turn && { turn }) };
  } catch (error) {
    return (error as Error).message;
  }
}

function readTurn(text: string): Options['turn'] {
  const [, actor, lane, turn] = /^([\w-]+):(\d+):(\d+)$/.exec(text) ?? [];
  return actor === undefined ? undefined : { actor, lane: Number(lane), turn: Number(turn) };
}

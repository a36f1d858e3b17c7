import { type Case, error, ok } from './case.ts';

/** The probes of dictionaries. */
export const probeCases: readonly Case[] = [
  {
    it: 'reaches a dictionary for a cache',
    path: '/runtime/cache/probe?dict=other',
    json: ok({ dict: 'other', reachable: 'true' }),
  },
  {
    it: 'reaches a dictionary for sessions',
    path: '/runtime/session/probe?dict=other',
    json: ok({ dict: 'other', session_dict: 'other', reachable: 'true' }),
  },
  {
    it: 'leaves nothing behind',
    first: ['cache', 'session'].map((kind) => `/runtime/${kind}/probe?dict=untouched`),
    path: '/runtime/flags?dict=untouched',
    json: [],
  },
  ...(['cache', 'session'] as const).flatMap((kind) => {
    const subject = kind === 'cache' ? 'shared dict' : 'session dict';
    return [
      ...['nope', 'bus', '__proto__'].map((dict) => ({
        it: `does not reach ${dict}`,
        path: `/runtime/${kind}/probe?dict=${dict}`,
        json: error(`${subject} not reachable: ${dict}`),
      })),
      ...['', '?dict=', '?dict', '?d=other'].map((query) => ({
        it: `refuses no dictionary: ${query}`,
        path: `/runtime/${kind}/probe${query}`,
        status: 400,
        json: error('missing required query param: dict'),
      })),
    ];
  }),
];

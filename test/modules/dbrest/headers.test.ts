import { describe, expect, test } from 'vitest';
import { DbrestFault } from '../../../src/modules/dbrest/fault/index.ts';
import {
  acceptedMedia,
  appliedPreferences,
  chooseMedia,
  chooseSchema,
  honoured,
  parsePreferences,
  rowRange,
} from '../../../src/modules/dbrest/request/index.ts';
import { contentType } from '../../../src/modules/dbrest/response/index.ts';

/** The result of a function, or `status code message | details` of the fault that it throws. */
function outcome(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof DbrestFault)) throw error;
    return `${error.status} ${error.code} ${error.message} | ${error.details as string | null}`;
  }
}

const none = (types: string): string =>
  `406 PGRST107 None of these media types are available: ${types} | null`;

const media: [accept: string | undefined, chosen: string][] = [
  [undefined, 'application/json; charset=utf-8'],
  ['', 'application/json; charset=utf-8'],
  ['*/*', 'application/json; charset=utf-8'],
  ['application/*', 'application/json; charset=utf-8'],
  ['application/json; charset=utf-8', 'application/json; charset=utf-8'],
  ['APPLICATION/JSON', 'application/json; charset=utf-8'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json; charset=utf-8'],
  ['text/csv', 'text/csv; charset=utf-8'],
  ['text/*', 'text/csv; charset=utf-8'],
  ['application/json, text/csv', 'application/json; charset=utf-8'],
  ['application/json;q=0.5, text/csv', 'text/csv; charset=utf-8'],
  ['application/json;q=0.5, text/csv;q=0.501', 'text/csv; charset=utf-8'],
  ['*/*, text/csv', 'text/csv; charset=utf-8'],
  ['image/png, text/xml;q=0.1', 'text/xml; charset=utf-8'],
  ['application/octet-stream', 'application/octet-stream'],
  ['application/vnd.pgrst.object+json', 'application/vnd.pgrst.object+json; charset=utf-8'],
  ['application/vnd.dbrest.object+json', 'application/vnd.dbrest.object+json; charset=utf-8'],
  ['application/vnd.pgrst.object', 'application/vnd.pgrst.object+json; charset=utf-8'],
  [
    'application/vnd.pgrst.object+json;nulls=stripped',
    'application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8',
  ],
  [
    'application/vnd.dbrest.array+json; nulls=stripped',
    'application/vnd.dbrest.array+json;nulls=stripped; charset=utf-8',
  ],
  ['application/json;nulls="stripped"', 'application/json;nulls=stripped; charset=utf-8'],
  ['application/vnd.pgrst.array+json', 'application/json; charset=utf-8'],
  ['application/vnd.dbrest.array', 'application/json; charset=utf-8'],
  ['application/vnd.pgrst.array+json;nulls=other', 'application/json; charset=utf-8'],
  [
    'application/vnd.pgrst.plan; for="application/vnd.pgrst.array+json"',
    'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8',
  ],
  ['application/vnd.pgrst.plan', 'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8'],
  [
    'application/vnd.dbrest.plan+json; for="text/csv"; options=buffers|analyze|nonsense',
    'application/vnd.dbrest.plan+json; for="text/csv"; options=analyze|buffers; charset=utf-8',
  ],
  [
    'application/vnd.pgrst.plan+text; for="application/vnd.pgrst.object+json;nulls=stripped"',
    'application/vnd.pgrst.plan+text; for="application/vnd.pgrst.object+json;nulls=stripped"; charset=utf-8',
  ],
  ['application/json;q=0', none('application/json')],
  ['image/png', none('image/png')],
  ['image/png;q=0.2, IMAGE/jpeg; x="a,b"', none('IMAGE/jpeg;x="a,b", image/png')],
  ['application/vnd.pgrst.plan; for="image/png"', none('application/vnd.pgrst.plan;for="image/png"')],
  ['application/vnd.other.object+json', none('application/vnd.other.object+json')],
  ['application/json;q=nonsense', none('application/json')],
];
test.each(media)('Accept: %s gets %s', (accept, chosen) => {
  expect(outcome(() => contentType(chooseMedia(acceptedMedia(accept), () => true)))).toBe(chosen);
});

test('a type that cannot be served is skipped', () => {
  const accepted = acceptedMedia('text/csv, application/json;q=0.5');
  expect(chooseMedia(accepted, ({ format }) => format !== 'csv').name).toBe('application/json');
  expect(outcome(() => chooseMedia(accepted, () => false))).toBe(none('text/csv, application/json'));
});

const strict = (invalid: string): string =>
  `400 PGRST122 Invalid preferences given with handling=strict | Invalid preferences: ${invalid}`;

const preferences: [prefer: string | undefined, applied: string | undefined][] = [
  [undefined, undefined],
  ['', undefined],
  ['count=exact', 'count=exact'],
  ['count=exact, count=planned', 'count=exact'],
  ['count=nonsense, count=planned', 'count=planned'],
  ['tx=rollback,count=estimated', 'count=estimated, tx=rollback'],
  ['timezone=America/Los_Angeles', 'timezone=America/Los_Angeles'],
  ['timezone=+05:30', 'timezone=+05:30'],
  ['handling=lenient, anything', 'handling=lenient'],
  ['handling=strict', 'handling=strict'],
  [
    'handling=strict, return=minimal, resolution=merge-duplicates, missing=default, max-affected=10, params=single-object',
    'resolution=merge-duplicates, missing=default, return=minimal, params=single-object, handling=strict, max-affected=10',
  ],
  ['handling=strict, anything, count=all,max-affected=x', strict('anything, count=all, max-affected=x')],
  ['handling=lenient, handling=strict, anything', 'handling=lenient'],
  ['timezone=', undefined],
  ['handling=strict, timezone=', strict('timezone=')],
];
test.each(preferences)('Prefer: %s applies %s', (prefer, applied) => {
  expect(outcome(() => appliedPreferences(honoured(parsePreferences(prefer), true)))).toBe(applied);
});

test('Prefer: tx applies only where the location allows it', () => {
  expect(appliedPreferences(honoured(parsePreferences('tx=rollback'), false))).toBe(undefined);
});

const unsatisfiable = (details: string): string =>
  `416 PGRST103 Requested range not satisfiable | ${details}`;
const LOWER = unsatisfiable(
  'The lower boundary must be lower than or equal to the upper boundary in the Range header.',
);

describe('a range', () => {
  const ranges: [
    query: { offset: number; limit?: number },
    header: string | undefined,
    maxRows: number | undefined,
    range: unknown,
  ][] = [
    [{ offset: 0 }, undefined, undefined, { offset: 0 }],
    [{ offset: 3, limit: 5 }, undefined, undefined, { offset: 3, limit: 5 }],
    [{ offset: 0 }, '0-9', undefined, { offset: 0, limit: 10 }],
    [{ offset: 0 }, '5-', undefined, { offset: 5 }],
    [{ offset: 0 }, 'items=5-5', undefined, { offset: 5, limit: 1 }],
    [{ offset: 2, limit: 5 }, '0-3', undefined, { offset: 2, limit: 2 }],
    [{ offset: 2, limit: 5 }, '4-', undefined, { offset: 4, limit: 3 }],
    [{ offset: 0, limit: 0 }, undefined, undefined, { offset: 0, limit: 0 }],
    [{ offset: 0 }, undefined, 10, { offset: 0, limit: 10 }],
    [{ offset: 5, limit: 20 }, undefined, 10, { offset: 5, limit: 10 }],
    [{ offset: 0 }, '0-4', 10, { offset: 0, limit: 5 }],
    [{ offset: 0 }, '9-0', undefined, LOWER],
    [{ offset: 0, limit: 2 }, '2-3', undefined, LOWER],
    ...['', 'x', '0', '-5', '0-x', '0-9,20-29', 'bytes=0-9', '0-9999999999999999'].map(
      (header): [{ offset: number }, string, undefined, string] => [
        { offset: 0 },
        header,
        undefined,
        `400 PGRST100 "failed to parse range (${header})" (line 1, column 1) | unexpected text expecting "first-last" or "first-"`,
      ],
    ),
  ];
  test.each(ranges)('of %j and %s, at most %s rows, is %j', (...[query, header, maxRows, range]) => {
    expect(outcome(() => rowRange(query, header, maxRows))).toEqual(range);
  });
});

test('a profile chooses among the exposed schemas', () => {
  expect(chooseSchema(undefined, ['a', 'b'])).toBe('a');
  expect(chooseSchema('b', ['a', 'b'])).toBe('b');
  expect(chooseSchema('nï çød', ['a', 'Ünï çødé'])).toBe('Ünï çødé');
  expect(chooseSchema('', ['a', '東京'])).toBe('東京');
  expect(outcome(() => chooseSchema('', ['a', 'b']))).toBe('406 PGRST106 Invalid schema:  | null');
  expect(outcome(() => chooseSchema('a', ['äa', 'aä']))).toBe('406 PGRST106 Invalid schema: a | null');
  expect(outcome(() => chooseSchema('c', ['a', 'b']))).toBe('406 PGRST106 Invalid schema: c | null');
});

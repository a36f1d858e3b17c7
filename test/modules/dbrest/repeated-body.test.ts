import { expect, test } from 'vitest';
import type { RowForm } from '../../../src/modules/dbrest/plan/index.ts';
import { openBody } from '../../../src/modules/dbrest/response/body.ts';
import { TestWire } from '../../harness/test-wire.ts';

/** Rows of more characters than are kept as one text. */
const ROWS = Array.from({ length: 8 }, (_, i) => `{"n":"${String(i).repeat(50_000)}"}`);

const forms: readonly { readonly it: string; readonly rows: readonly string[] }[] = [
  { it: 'fewer rows', rows: ROWS.slice(0, 2) },
  { it: 'the same rows', rows: ROWS },
  { it: 'no rows', rows: [] },
];

for (const { it, rows } of forms) {
  test(`a write that is run again, and then gives ${it}, shows none of its first rows`, async () => {
    const wire = new TestWire('POST /api/things');
    const form = { media: { format: 'json', name: 'application/json' }, shape: 'rows' } as RowForm;
    const body = openBody(wire.x, form, { head: () => ({ status: 201 }), held: true });
    for (const run of [ROWS, rows]) {
      body.begin([]);
      for (const row of run) void body.row([row]);
    }
    await body.end();
    expect(JSON.parse(String(wire.sent?.body))).toEqual(rows.map((row) => JSON.parse(row) as unknown));
  });
}

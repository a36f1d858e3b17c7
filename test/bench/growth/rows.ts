import { startDatabase } from '../database.ts';
import { countText } from '../quantities.ts';
import type { Row } from '../row.ts';
import { compareShape, FIXTURE } from '../scenarios/rest.ts';
import { series } from './series.ts';

const COUNTS = [1, 10, 100, 1_000, 10_000];

/** Rows of one response, against the same statements from pgbench. */
export const rowsRow: Row = {
  name: 'rows',
  async run(bench) {
    const database = await startDatabase(bench, FIXTURE);
    const line = (count: number): string => `REST, rows: ${countText(count)}`;
    return series(bench, {
      sizes: COUNTS,
      name: line,
      open: (own, count) =>
        compareShape(own, database, {
          line: line(count),
          goals: {},
          request: (key) => ({ path: `/api/items?order=id&limit=${count}&id=gte.${key}` }),
        }),
    });
  },
};

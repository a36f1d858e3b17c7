import { expect, test } from 'vitest';
import { quantile } from '../../../../src/modules/control/console/page/pace.ts';

const BOUNDS = [1, 2, 4];

const cases = [
  { it: 'nothing was counted', buckets: [0, 0, 0, 0], q: 0.5, value: undefined },
  { it: 'there are no buckets', buckets: [], q: 0.5, value: undefined },
  { it: 'all values are in the first bucket', buckets: [10, 0, 0, 0], q: 0.5, value: 0.5 },
  { it: 'the value lies inside a later bucket', buckets: [5, 0, 10, 0], q: 0.8, value: 3.4 },
  { it: 'a bucket between is empty', buckets: [1, 0, 1, 0], q: 0.5, value: 1 },
  { it: 'the value lies beyond the last bound', buckets: [1, 0, 0, 9], q: 0.99, value: 4 },
  { it: 'the largest value is requested', buckets: [0, 4, 0, 0], q: 1, value: 2 },
];
for (const { it, buckets, q, value } of cases) {
  test(`the quantile is ${value} when ${it}`, () => {
    const found = quantile(buckets, BOUNDS, q);
    if (value === undefined) expect(found).toBeUndefined();
    else expect(found).toBeCloseTo(value);
  });
}

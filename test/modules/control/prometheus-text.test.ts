import { expect, test } from 'vitest';
import { prometheusText } from '../../../src/modules/control/prometheus-text.ts';
import { readStrictly } from './prometheus-text.ts';

const samples = (...values: number[]) => values.map((value, i) => ({ labels: { i: String(i) }, value }));

test('metrics are written with help, type, and every kind of number', () => {
  const text = prometheusText([
    { name: 'a_total', help: 'As\\b\nc.', kind: 'counter', samples: [{ labels: {}, value: 1e21 }] },
    { name: 'b', help: 'Bs.', kind: 'gauge', samples: samples(-1.5, NaN, Infinity, -Infinity) },
    {
      name: 'c_seconds',
      help: 'Cs.',
      kind: 'histogram',
      samples: [{ labels: { p: '"\\\n' }, value: 2.5, buckets: [1, 0, 2], bounds: [0.5, 1] }],
    },
  ]);
  expect(text).toBe(`# HELP a_total As\\\\b\\nc.
# TYPE a_total counter
a_total 1e+21
# HELP b Bs.
# TYPE b gauge
b{i="0"} -1.5
b{i="1"} NaN
b{i="2"} +Inf
b{i="3"} -Inf
# HELP c_seconds Cs.
# TYPE c_seconds histogram
c_seconds_bucket{p="\\"\\\\\\n",le="0.5"} 1
c_seconds_bucket{p="\\"\\\\\\n",le="1"} 1
c_seconds_bucket{p="\\"\\\\\\n",le="+Inf"} 3
c_seconds_sum{p="\\"\\\\\\n"} 2.5
c_seconds_count{p="\\"\\\\\\n"} 3
`);
  expect(readStrictly(text).get('b{i="0"}')).toBe(-1.5);
});

const head = (type: string) => `# HELP a As.\n# TYPE a ${type}\n`;

const wrong: readonly { it: string; text: string; fault: RegExp }[] = [
  { it: 'an end in the middle of a line', text: `${head('gauge')}a 1`, fault: /has no end/ },
  { it: 'a metric without help', text: '# TYPE a gauge\na 1\n', fault: /is no HELP line/ },
  { it: 'a metric without type', text: '# HELP a As.\na 1\n', fault: /is no TYPE line/ },
  { it: 'a metric without samples', text: head('gauge'), fault: /has no sample/ },
  {
    it: 'a metric that comes twice',
    text: `${head('gauge')}a 1\n${head('gauge')}a 1\n`,
    fault: /comes twice/,
  },
  { it: 'a series that comes twice', text: `${head('gauge')}a{b="1"} 1\na{b="1"} 2\n`, fault: /comes twice/ },
  { it: "another metric's sample", text: `${head('gauge')}b 1\n`, fault: /no sample of "a"/ },
  { it: 'an open quote', text: `${head('gauge')}a{b="1} 1\n`, fault: /no sample/ },
  { it: 'a bare quote in a label', text: `${head('gauge')}a{b="1"2"} 1\n`, fault: /no sample/ },
  { it: 'a value that is not a number', text: `${head('gauge')}a undefined\n`, fault: /no sample/ },
  { it: 'a negative counter', text: `${head('counter')}a -1\n`, fault: /counter "a" is -1/ },
  {
    it: 'buckets that shrink',
    text: `${head('histogram')}a_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n`,
    fault: /does not grow/,
  },
  {
    it: 'buckets that disagree with their count',
    text: `${head('histogram')}a_bucket{le="+Inf"} 1\na_sum 1\na_count 2\n`,
    fault: /does not end with its count/,
  },
];

for (const { it, text, fault } of wrong) {
  test(`the strict reader of the tests refuses ${it}`, () => expect(() => readStrictly(text)).toThrow(fault));
}

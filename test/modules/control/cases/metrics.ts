import { type Case, error } from './case.ts';

/** A query, the line that it renders, and the summary of the metric. */
const metrics: readonly (readonly [query: string, line: string, summary: string])[] = [
  ['', 'gw.control_api_metric:1|c', 'gw.control_api_metric type=c value=1 rate=1.0 tags=0'],
  ['name=hits&value=3', 'gw.hits:3|c', 'gw.hits type=c value=3 rate=1.0 tags=0'],
  ['ns=shop&name=a.b-c_d', 'shop.a.b-c_d:1|c', 'shop.a.b-c_d type=c value=1 rate=1.0 tags=0'],
  [
    'type=g&value=-2.5',
    'gw.control_api_metric:-2.5|g',
    'gw.control_api_metric type=g value=-2.5 rate=1.0 tags=0',
  ],
  [
    'type=g&value=%2B4',
    'gw.control_api_metric:+4|g',
    'gw.control_api_metric type=g value=+4 rate=1.0 tags=0',
  ],
  ['value=1e3', 'gw.control_api_metric:1e3|c', 'gw.control_api_metric type=c value=1e3 rate=1.0 tags=0'],
  ['value=0', 'gw.control_api_metric:0|c', 'gw.control_api_metric type=c value=0 rate=1.0 tags=0'],
  ['rate=0.5', 'gw.control_api_metric:1|c|@0.5', 'gw.control_api_metric type=c value=1 rate=0.5 tags=0'],
  ['rate=1', 'gw.control_api_metric:1|c', 'gw.control_api_metric type=c value=1 rate=1.0 tags=0'],
  [
    'tags=a:b,c:d',
    'gw.control_api_metric:1|c|#a:b,c:d',
    'gw.control_api_metric type=c value=1 rate=1.0 tags=2',
  ],
  [
    'tags=u:http://x,e:',
    'gw.control_api_metric:1|c|#u:http://x,e:',
    'gw.control_api_metric type=c value=1 rate=1.0 tags=2',
  ],
  ['tags=', 'gw.control_api_metric:1|c', 'gw.control_api_metric type=c value=1 rate=1.0 tags=0'],
  [
    'name=x&value=2&type=ms&ns=n&rate=0.1&tags=a:b,c:d&format=dogstatsd',
    'n.x:2|ms|@0.1|#a:b,c:d',
    'n.x type=ms value=2 rate=0.1 tags=2',
  ],
  [
    'tags=a:b&format=statsd',
    'gw.control_api_metric:1|c',
    'gw.control_api_metric type=c value=1 rate=1.0 tags=1',
  ],
  ['name=gr%C3%B6%C3%9Fe', 'gw.größe:1|c', 'gw.größe type=c value=1 rate=1.0 tags=0'],
];

const types = Object.entries({
  c: ['c', 'counter'],
  g: ['g', 'gauge'],
  ms: ['ms', 'timer', 'timing'],
  s: ['s', 'set'],
  d: ['d', 'distribution'],
  h: ['h', 'histogram'],
}).flatMap(([type, names]) => names.map((name) => ({ type, name })));

const MALFORMED: Readonly<Record<string, readonly string[]>> = {
  'empty name': ['name=', 'name'],
  'empty namespace': ['ns='],
  'name contains ":", "|", "@" or a control character': [
    'name=a:b',
    'name=a%7Cb',
    'name=a@b',
    'name=a%0Ab',
    'name=%7F',
  ],
  'namespace contains ":", "|", "@" or a control character': ['ns=a:b', 'ns=%0D'],
  'unknown type "x"': ['type=x'],
  'unknown type "C"': ['type=C'],
  'unknown type ""': ['type='],
  'value is not a number': [
    'value=',
    'value=x',
    'value=1a',
    'value=0x1',
    'value=1,5',
    'value=NaN',
    'value=Infinity',
    'value=1e999',
    'value=%201',
    'value=1%7Cc',
    'value=.',
  ],
  'negative counter': ['value=-1', 'value=-0.1&type=counter'],
  'rate is not in (0, 1]': ['rate=0', 'rate=-1', 'rate=1.01', 'rate=x', 'rate=', 'rate=NaN'],
  'tag "a" has no ":"': ['tags=a', 'tags=b:c,a'],
  'tag "" has no ":"': ['tags=a:b,', 'tags=a:b,,c:d'],
  'empty tag name': ['tags=:b', 'tags=a:b,:c'],
  'tag contains "|", "#" or a control character': [
    'tags=a:b%7Cc',
    'tags=a%23:b',
    'tags=a:b%0A',
    'tags=a:b%00',
  ],
  'unknown format "json"': ['format=json'],
  'unknown format ""': ['format='],
};

export const metricCases: readonly Case[] = [
  ...metrics.flatMap(([query, line, summary]) => [
    { it: `renders ${query || 'nothing given'}`, path: `/runtime/metrics/render?${query}`, body: line },
    {
      it: `describes ${query || 'nothing given'}`,
      path: `/runtime/metrics/describe?${query}`,
      body: summary,
    },
  ]),
  ...types.map(({ type, name }) => ({
    it: `knows the type ${name}`,
    path: `/runtime/metrics/render?type=${name}`,
    body: `gw.control_api_metric:1|${type}`,
  })),
  ...Object.entries(MALFORMED).flatMap(([message, queries]) =>
    queries.flatMap((query) =>
      ['render', 'describe'].map((endpoint) => ({
        it: `${endpoint} refuses ${query}`,
        path: `/runtime/metrics/${endpoint}?${query}`,
        status: 400,
        json: error(`metric validation error: ${message}`),
      })),
    ),
  ),
];

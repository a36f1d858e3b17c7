import { type Case, error, ok } from './case.ts';

const flag = (name: string, enabled: boolean, rest: { pct?: string; ttl?: string } = {}) => ({
  name,
  enabled: String(enabled),
  rollout_pct: rest.pct ?? '100',
  ttl_s: rest.ttl ?? '3600',
});
const set = (...fields: Parameters<typeof flag>) => ok({ action: 'set', ...flag(...fields) });

const booleans = ['1', 'true', 'on', '0', 'false', 'off'].map((enabled, index) => ({
  it: `takes enabled=${enabled}`,
  path: `/runtime/flag/set?name=b${index}&enabled=${enabled}`,
  json: set(`b${index}`, index < 3),
}));

const settings: readonly Case[] = [
  { it: 'has defaults', path: '/runtime/flag/set?name=plain', json: set('plain', true) },
  {
    it: 'takes all parameters',
    path: '/runtime/flag/set?name=all&enabled=off&rollout_pct=25&ttl_s=60',
    json: set('all', false, { pct: '25', ttl: '60' }),
  },
  {
    it: 'takes the short names',
    path: '/runtime/flag/set?name=short&pct=0&ttl=0',
    json: set('short', true, { pct: '0', ttl: '0' }),
  },
  {
    it: 'prefers the long names',
    path: '/runtime/flag/set?name=both&pct=1&rollout_pct=2&ttl=3&ttl_s=4',
    json: set('both', true, { pct: '2', ttl: '4' }),
  },
  {
    it: 'counts an empty parameter as missing',
    path: '/runtime/flag/set?name=empty&enabled=&rollout_pct=&ttl_s=&dict=',
    json: set('empty', true),
  },
  {
    it: 'takes a short name when the long one is empty',
    path: '/runtime/flag/set?name=emptylong&rollout_pct=&pct=7',
    json: set('emptylong', true, { pct: '7' }),
  },
  {
    it: 'takes the last of a repeated parameter',
    path: '/runtime/flag/set?name=repeated&enabled=1&enabled=0',
    json: set('repeated', false),
  },
  {
    it: 'takes the largest lifetime',
    path: '/runtime/flag/set?name=ever&ttl_s=2147483647',
    json: set('ever', true, { ttl: '2147483647' }),
  },
  {
    it: 'takes a name of 255 bytes',
    path: `/runtime/flag/set?name=${'%C3%A9'.repeat(127)}x`,
    json: set(`${'é'.repeat(127)}x`, true),
  },
  {
    it: 'takes any bytes in a name',
    path: '/runtime/flag/set?name=a%20b%22%0A%00%2F+',
    json: set('a b"\n\0/+', true),
  },
  {
    it: 'takes names that are special in JavaScript',
    path: '/runtime/flag/set?name=__proto__',
    json: set('__proto__', true),
  },
  {
    it: 'writes into another dictionary',
    path: '/runtime/flag/set?name=elsewhere&dict=other',
    json: set('elsewhere', true),
  },
  {
    it: 'reports a dictionary that does not exist',
    path: '/runtime/flag/set?name=x&dict=nope',
    json: error('shared dict not found: nope'),
  },
  {
    it: 'does not take a ring as a dictionary',
    path: '/runtime/flag/set?name=x&dict=bus',
    json: error('shared dict not found: bus'),
  },
];

const refusedSettings = [
  ...['2', 'yes', 'TRUE', 'null', '%20', 'tru'].map((value) => ({ value, name: 'enabled' })),
  ...['101', '-1', '1.5', 'all', '0x10', '1e1', '%31%20', '99999999999'].map((value) => ({
    value,
    name: 'rollout_pct',
  })),
  ...['101', '-1'].map((value) => ({ value, name: 'pct' })),
  ...['-1', '1s', '0.5', '2147483648', '99999999999999999999', 'Infinity'].map((value) => ({
    value,
    name: 'ttl_s',
  })),
  { value: '-1', name: 'ttl' },
];
const PREDICATES: Readonly<Record<string, string>> = {
  enabled: 'must be 1, 0, true, false, on or off',
  rollout_pct: 'must be an integer from 0 to 100',
  pct: 'must be an integer from 0 to 100',
  ttl_s: 'must be an integer from 0 to 2147483647',
  ttl: 'must be an integer from 0 to 2147483647',
};
const refused: readonly Case[] = refusedSettings.map(({ name, value }) => ({
  it: `refuses ${name}=${value}`,
  path: `/runtime/flag/set?name=refused&${name}=${value}`,
  status: 400,
  json: error(`invalid query param: ${name} ${PREDICATES[name]}`),
}));

const badNames: readonly Case[] = ['flag', 'flag/set', 'flag/unset'].flatMap((endpoint) => [
  ...['', '?name=', '?name', '?nam=x'].map((query) => ({
    it: `refuses no name: ${query}`,
    path: `/runtime/${endpoint}${query}`,
    status: 400,
    json: error('missing required query param: name'),
  })),
  {
    it: 'refuses a name of 256 bytes',
    path: `/runtime/${endpoint}?name=${'%C3%A9'.repeat(128)}`,
    status: 400,
    json: error('invalid query param: name exceeds 255 bytes'),
  },
  ...['%ff', '%c3%28'].map((escape) => ({
    it: `refuses the escape ${escape}`,
    path: `/runtime/${endpoint}?name=x&y=${escape}`,
    status: 400,
    json: error('the query is not valid percent-encoded UTF-8'),
  })),
]);

const reading: readonly Case[] = [
  {
    it: 'shows a flag',
    first: ['/runtime/flag/set?name=shown&enabled=0&pct=33&ttl=0'],
    path: '/runtime/flag?name=shown',
    json: ok(flag('shown', false, { pct: '33', ttl: '0' })),
  },
  {
    it: 'shows the remaining lifetime',
    first: ['/runtime/flag/set?name=lives&ttl=1000'],
    path: '/runtime/flag?name=lives',
    json: ok(flag('lives', true, { ttl: '1000' })),
  },
  {
    it: 'shows the last setting',
    first: ['/runtime/flag/set?name=twice&pct=10', '/runtime/flag/set?name=twice&pct=20'],
    path: '/runtime/flag?name=twice',
    json: ok(flag('twice', true, { pct: '20' })),
  },
  { it: 'reports a missing flag', path: '/runtime/flag?name=none', json: error('flag not found: none') },
  {
    it: 'searches one dictionary only',
    first: ['/runtime/flag/set?name=apart&dict=other'],
    path: '/runtime/flag?name=apart',
    json: error('flag not found: apart'),
  },
  {
    it: 'searches the dictionary that is named',
    first: ['/runtime/flag/set?name=there&dict=other&pct=1'],
    path: '/runtime/flag?name=there&dict=other',
    json: ok(flag('there', true, { pct: '1' })),
  },
  {
    it: 'reports a dictionary that does not exist',
    path: '/runtime/flag?name=x&dict=nope',
    json: error('shared dict not found: nope'),
  },
  {
    it: 'removes a flag',
    first: ['/runtime/flag/set?name=gone'],
    path: '/runtime/flag/unset?name=gone',
    json: ok({ action: 'unset', name: 'gone' }),
  },
  {
    it: 'reports that there is nothing to remove',
    first: ['/runtime/flag/set?name=gone2', '/runtime/flag/unset?name=gone2'],
    path: '/runtime/flag/unset?name=gone2',
    json: error('flag not found: gone2'),
  },
  {
    it: 'lists flags by name',
    first: ['b', 'a', 'c'].map((name) => `/runtime/flag/set?name=${name}&dict=listed&ttl=0&pct=5`),
    path: '/runtime/flags?dict=listed',
    json: ['a', 'b', 'c'].map((name) => flag(name, true, { pct: '5', ttl: '0' })),
  },
];

export const flagCases: readonly Case[] = [...booleans, ...settings, ...refused, ...badNames, ...reading];

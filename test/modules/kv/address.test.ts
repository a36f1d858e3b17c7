import { expect, test } from 'vitest';
import { addressLabel, parseAddress, parseRequestAddress } from '../../../src/modules/kv/address.ts';
import { AddressFault, endpointsOf } from '../../../src/redis/index.ts';

const read = [
  { text: '127.0.0.1:6380', gives: { kind: 'inet', host: '127.0.0.1', port: 6380 } },
  { text: '[::1]:6380', gives: { kind: 'inet', host: '::1', port: 6380 } },
  { text: '[::1]', gives: { kind: 'inet', host: '::1', port: 6379 } },
  { text: 'cache', gives: { kind: 'name', name: 'cache' } },
  { text: 'unix:/run/redis.sock', gives: { kind: 'unix', path: '/run/redis.sock' } },
  { text: 'embedded', gives: { kind: 'embedded', dir: '.gw/kv' } },
  { text: 'embedded:./data/kv', gives: { kind: 'embedded', dir: './data/kv' } },
  { text: 'redis://h', gives: { kind: 'name', name: 'h' } },
  {
    text: 'redis://u:p%40ss@h:1/3',
    gives: { kind: 'inet', host: 'h', port: 1, username: 'u', password: 'p@ss', db: 3 },
  },
  { text: 'rediss://:pw@h:1', gives: { kind: 'inet', host: 'h', port: 1, password: 'pw', tls: true } },
];
test.each(read)('reads $text', ({ text, gives }) => {
  expect(parseAddress(text)).toEqual(gives);
});

const refused = [
  { text: '', predicate: 'has no host' },
  { text: ':6379', predicate: 'has no host' },
  { text: 'h:', predicate: 'has an invalid port' },
  { text: 'h:0', predicate: 'has an invalid port' },
  { text: 'h:65536', predicate: 'has an invalid port' },
  { text: 'a b:1', predicate: 'has an invalid host' },
  { text: 'u@h:1', predicate: 'has an invalid host' },
  { text: '::1:6379', predicate: 'has an invalid host' },
  { text: 'unix:redis.sock', predicate: 'needs an absolute path after "unix:"' },
  { text: 'embedded:', predicate: 'has no directory after "embedded:"' },
  { text: 'http://h', predicate: 'has a scheme other than redis and rediss' },
  { text: 'redis://h:1/x', predicate: 'has a path that is not a database number' },
  { text: 'redis://h:1/1/2', predicate: 'has a path that is not a database number' },
  { text: 'redis://h:1?db=2', predicate: 'takes no query and no fragment' },
  { text: 'redis://u@h:1', predicate: 'has a user name without a password' },
  { text: 'redis://:%ff@h:1', predicate: 'has a login that is not UTF-8' },
];
test.each(refused)('refuses "$text"', ({ text, predicate }) => {
  expect(parseAddress(text)).toEqual(new AddressFault(predicate));
});

test.each(['unix:/run/redis.sock', 'embedded', 'embedded:/etc', 'redis://:pw@h:1', 'rediss://u:pw@h:1'])(
  'refuses %s when it came out of variables',
  (text) => {
    expect(parseRequestAddress(text)).toBeInstanceOf(AddressFault);
  },
);

test('names an address without its login', () => {
  const address = parseAddress('rediss://user:secret@[::1]:7/2');
  expect(address instanceof AddressFault ? '' : addressLabel(address)).toBe('[::1]:7');
});

test('gives the servers of an upstream the login of the URL', () => {
  const servers = ['10.0.0.1:1', '[::1]:2', 'host', 'unix:/s'];
  expect(endpointsOf({ kind: 'name', name: 'cache', password: 'pw' }, () => servers)).toEqual([
    { kind: 'inet', host: '10.0.0.1', port: 1, password: 'pw' },
    { kind: 'inet', host: '::1', port: 2, password: 'pw' },
    { kind: 'inet', host: 'host', port: 6379, password: 'pw' },
    { kind: 'unix', path: '/s', password: 'pw' },
  ]);
});

test('takes a name without an upstream for a host on the default port', () => {
  expect(endpointsOf({ kind: 'name', name: 'redis' }, () => undefined)).toEqual([
    { kind: 'inet', host: 'redis', port: 6379 },
  ]);
});

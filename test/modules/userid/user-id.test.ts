import fc from 'fast-check';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { decodeUserId, isId, UserIdSource, userIdText } from '../../../src/modules/userid/index.ts';

const load = oneGateway();

const ON = { mode: 'on' } as const;
const V1 = { mode: 'v1' } as const;

const forms = [
  { config: ON, address: '127.0.0.1', text: /^uid=0100007F[0-9A-F]{8}0403020102030303$/ },
  { config: ON, address: '2001:db8::102:304', text: /^uid=04030201[0-9A-F]{8}0403020102030303$/ },
  { config: ON, address: 'unix:/s', text: /^uid=00000000[0-9A-F]{8}0403020102030303$/ },
  { config: { ...ON, service: 5 }, address: '127.0.0.1', text: /^uid=05000000[0-9A-F]{8}0403020102030303$/ },
  { config: V1, address: '127.0.0.1', text: /^uid=00000000[0-9A-F]{8}0102030400000001$/ },
  { config: { ...V1, service: 5 }, address: '127.0.0.1', text: /^uid=00000005[0-9A-F]{8}0102030400000001$/ },
];
for (const { config, address, text } of forms) {
  test(`an id is written as nginx writes it: ${JSON.stringify(config)} at ${address}`, () => {
    const id = new UserIdSource(0x0102_0304).give(config, address);
    expect(userIdText('uid', id)).toMatch(text);
    expect(Math.abs(seconds(id, config.mode) - Date.now() / 1000)).toBeLessThan(60);
  });
}

function seconds(id: Buffer, mode: 'on' | 'v1'): number {
  return mode === 'v1' ? id.readUInt32LE(4) : id.readUInt32BE(4);
}

test('ids differ, within a source and between two', () => {
  const sources = [new UserIdSource(1), new UserIdSource(2)];
  const ids = sources.flatMap((source) =>
    Array.from({ length: 1000 }, (_, n) => source.give(n % 2 === 0 ? ON : V1, '127.0.0.1')),
  );
  expect(new Set(ids.map((id) => id.toString('hex'))).size).toBe(2000);
  expect(ids.every(isId)).toBe(true);
});

test('an id is read from a cookie as it was written, with any text after it', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.constantFrom('==', 'a=', '', '!rubbish'),
      (bytes, tail) => {
        const cookie = Buffer.from(bytes).toString('base64').slice(0, 22) + tail;
        expect(decodeUserId(cookie)).toEqual(Buffer.from(bytes));
      },
    ),
  );
});

for (const cookie of ['', 'short', 'x'.repeat(21), `${'x'.repeat(21)}!`]) {
  test(`"${cookie}" is not an id`, () => expect(decodeUserId(cookie)).toBeUndefined());
}

const CONF = `server { location / { userid on; userid_expires 1h; set $uid_reset $arg_reset; return 200 "$uid_got $uid_set"; } }`;

test('a visitor gets an id once and keeps it, and the variable shows it', async (t) => {
  const gw = await load(t, CONF);
  const { headers, body } = await gw.fetch('/');
  const cookie = headers.get('set-cookie') ?? '';
  const [, value = '', expires = ''] =
    /^uid=([A-Za-z0-9+/]{22}==); expires=(.*); path=\/$/.exec(cookie) ?? [];
  expect(body).toBe(` ${userIdText('uid', decodeUserId(value) as Buffer)}`);
  expect(expires).toMatch(/^\w{3}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT$/);
  const again = await gw.fetch('/', { headers: { cookie: `uid=${value}` } });
  expect(again.headers.get('set-cookie')).toBeNull();
  expect(again.body).toBe(`${body.trim()} `);
});

test('a map gives $uid_reset as well', async (t) => {
  const gw = await load(
    t,
    'map $arg_reset $uid_reset { default ""; yes 1; no 0; } server { location / { userid on; return 200 $uid_set; } }',
  );
  const headers = { cookie: 'uid=fwAAAWk4aWkAAAAAAwMDAg==' };
  expect((await gw.fetch('/?reset=no', { headers })).body).toBe('');
  expect((await gw.fetch('/?reset=yes', { headers })).body).toMatch(/^uid=/);
});

test('a visitor who is reset gets another id, which can be logged', async (t) => {
  const gw = await load(t, CONF);
  const cookie = 'uid=fwAAAWk4aWkAAAAAAwMDAg==';
  const { headers } = await gw.fetch('/?reset=log', { headers: { cookie } });
  expect(headers.get('set-cookie')).toMatch(/^uid=(?!fwAAAWk4aWk)/);
  await gw.waitForLog(
    /\[notice\] .*userid cookie "uid=0100007F696938690000000002030303" was reset, client: /,
  );
});

const odd = [
  { cookie: 'uid=short', line: /client sent too short userid cookie "uid=short", client: / },
  {
    cookie: 'uid=fwAAAWk4aW!AAAAAAwMDAg==',
    line: /client sent invalid userid cookie "uid=fwAAAWk4aW!AAAAAAwMDAg==", client: /,
  },
];
for (const { cookie, line } of odd) {
  test(`a cookie that is not an id is logged and replaced: ${cookie}`, async (t) => {
    const gw = await load(t, CONF);
    const { headers } = await gw.fetch('/', { headers: { cookie } });
    expect(headers.get('set-cookie')).toMatch(/^uid=/);
    await gw.waitForLog(line);
  });
}

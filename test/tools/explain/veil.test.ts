import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { accountOf, configured, textOf } from './explained.ts';

const KEY = 'gwk_ann_0123456789abcdef';
const files = { keys: `ann:${createHash('sha256').update(KEY).digest('hex')}\n` };
const conf = (location: string): string => `
events {}
http {
  server {
    listen 127.0.0.1:8080;
    location / { auth_api_key shop header=X-Shop arg=key; auth_api_key_file keys; ${location} }
    location /inner/ { internal; auth_api_key shop arg=key; auth_api_key_file keys; return 200; }
  }
}`;

const shown = [
  { it: 'in the query', url: `http://127.0.0.1:8080/a?key=${KEY}&b=1`, as: '/a?key=***&b=1' },
  { it: 'under an escaped name', url: `http://127.0.0.1:8080/a?b=1&%6bEY=${KEY}`, as: '/a?b=1&%6bEY=***' },
  { it: 'that is too short for one', url: 'http://127.0.0.1:8080/a?key=bb&b=1', as: '/a?key=***&b=1' },
  {
    it: 'that ends before its location',
    url: `http://127.0.0.1:8080/inner/a?key=${KEY}`,
    as: '/inner/a?key=***',
  },
];

for (const { it, url, as } of shown)
  test(`an explanation masks an API key ${it}`, async (t) => {
    const explained = configured(t, conf('return 200 "$api_key_id $request_uri";'), files);
    const text = await textOf(explained, { url });
    expect(text).toContain(`GET http://127.0.0.1:8080${as}`);
    expect(text).not.toContain(KEY);
    expect(JSON.stringify(await accountOf(explained, { url }))).not.toContain(KEY);
  });

test('an explanation masks a token that a location takes from an argument', async (t) => {
  const token = 'aaaaaaaaaa.bbbbbbbbbb.cccccccccc';
  const jwks = '{"keys":[{"kty":"oct","kid":"a","k":"rSyBPR8NrQQDDXpUiJKFHrvbx8Oe2iAbqv4KTJgN9XA"}]}';
  const explained = configured(
    t,
    'events {} http { server { listen 127.0.0.1:8080; auth_jwt a token=$arg_t; auth_jwt_key_file k; return 200; } }',
    { k: jwks },
  );
  const text = await textOf(explained, { url: `http://127.0.0.1:8080/a?t=${token}` });
  expect(text).toContain('/a?t=***');
  expect(text).not.toContain(token);
});

test('an explanation masks the header that a location has its keys in, also where another text has the value', async (t) => {
  const explained = configured(t, conf('auth_api_key_pass on; return 200 "got $http_x_shop";'), files);
  const text = await textOf(explained, { url: 'http://127.0.0.1:8080/a', headers: [['X-Shop', KEY]] });
  expect(text).toContain('X-Shop: ***');
  expect(text).toContain('got ***');
  expect(text).not.toContain(KEY);
});

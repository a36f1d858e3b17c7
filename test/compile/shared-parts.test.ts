import { serialize } from 'node:v8';
import { expect, test } from 'vitest';
import { load as loadPlan } from '../../src/pipeline.ts';
import { oneGateway } from '../harness/gateway.ts';

const load = oneGateway();

const cases: { it: string; conf: string; requests: Record<string, string> }[] = [
  {
    it: 'variables that they define themselves',
    conf: `access_log off; error_page 404 /e$invalid_referer;
      location /a/ { valid_referers none other.example; }
      location /b/ { valid_referers example.com; }
      location = /e { return 200 valid; }
      location = /e1 { return 200 invalid; }`,
    requests: { '/a/x': 'valid', '/b/x': 'invalid' },
  },
  {
    it: 'paths behind an alias and below an upstream',
    conf: `location /a/ { alias files/; }
      location /b/ { alias files/; }
      location /c/ { proxy_pass http://127.0.0.1:PORT/echo/; }
      location /d/ { proxy_pass http://127.0.0.1:PORT/echo/; }
      location /echo/ { return 200 $uri; }`,
    requests: { '/a/one': '1', '/b/one': '1', '/c/x': '/echo/x', '/d/y': '/echo/y' },
  },
  {
    it: 'types of exact locations',
    conf: `types { text/css css; }
      location = /a.css { root files; }
      location = /b.txt { root files; }
      location / { root files; }`,
    requests: { '/a.css': 'text/css', '/b.txt': 'text/plain', '/c.css': 'text/css' },
  },
  {
    it: 'blocks',
    conf: `location /a { if ($arg_x) { return 200 "a with x"; } return 200 a; }
      location /b { if ($arg_x) { return 200 "b with x"; } return 200 b; }
      location /c { limit_except GET { deny all; } return 200 c; }`,
    requests: { '/a?x=1': 'a with x', '/b?x=1': 'b with x', '/b': 'b', '/c': 'c' },
  },
];
for (const { it, conf, requests } of cases) {
  test(`locations with equal configs keep their own ${it}`, async (t) => {
    const files = { 'files/one': '1', 'files/a.css': '', 'files/b.txt': '', 'files/c.css': '' };
    const gw = await load(t, (_, port) => `server { ${conf.replaceAll('PORT', String(port))} }`, files);
    for (const [path, expected] of Object.entries(requests)) {
      const { body, headers } = await gw.fetch(path);
      expect(body === '' ? headers.get('content-type') : body, path).toBe(expected);
    }
  });
}

test('a location costs the plan little more than what it sets', () => {
  const bytes = (locations: number): number => {
    const lines = Array.from({ length: locations }, (_, i) => `location /app${i} { return 200 "ok ${i}"; }`);
    const text = `http { server { listen 80; ${lines.join('\n')} } }`;
    return serialize(loadPlan({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text }).plan).length;
  };
  expect((bytes(1_100) - bytes(100)) / 1_000).toBeLessThan(320);
});

import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `server {
       root site;
       location /i { alias site/img/; }
       location /half { alias site/img; }
       location ~ ^/u(.*)$ { alias site/img/$1; }
       location ~ ^/r/(.*)$ { alias site/img/$arg_p; }
       location /p/ { root site/$arg_p; }
       location /t/ { try_files /$arg_p =410; }
       location /ta/ { alias site/img/; try_files $arg_p =410; }
       location /fallback/ { try_files /none $arg_p; }
       location /rewritten/ { rewrite ^ /$arg_p break; }
       location /index/ { alias site/img/; index $arg_p none; }
       location /up/ { root site/img/../img; }
       location ~ ^/variable-up { alias site/img/../$arg_p; }
     }`,
    {
      files: {
        'secret.txt': 'secret',
        'html/index.html': 'html',
        'site/beside.txt': 'beside',
        'site/img/a.gif': 'inside',
        'site/img/p/a.gif': 'inside',
        'site/img/up/a.gif': 'inside',
        'site/img../b.gif': 'inside',
        'siteimg/c.txt': 'secret',
      },
    },
  );
});

const outside = [
  'GET /i../beside.txt',
  'GET /i..%2fbeside.txt',
  'GET /i../../secret.txt',
  'GET /i../',
  'GET /i..',
  'GET /half/../../secret.txt',
  'GET /half/..%2f..%2fsecret.txt',
  'GET /u../beside.txt',
  'GET /r/x?p=../beside.txt',
  'GET /r/x?p=../../secret.txt',
  'GET /p/x?p=../..',
  'GET /p/secret.txt?p=../..',
  'GET /t/x?p=../secret.txt',
  'GET /t/x?p=img/../../secret.txt',
  'GET /ta/x?p=../../secret.txt',
  'GET /ta/x?p=../beside.txt',
  'GET /fallback/x?p=/../secret.txt',
  'GET /fallback/x?p=img/c.txt',
  'GET /rewritten/x?p=../secret.txt',
  'GET /index/?p=../../secret.txt',
  'GET /variable-up?p=../secret.txt',
  'GET /%2e%2e/secret.txt',
  'GET /..%2f..%2f..%2fetc/passwd',
  'GET /img/%252e%252e/%252e%252e/secret.txt',
  'GET /img/..\\..\\secret.txt',
  'GET /secret.txt%00.gif',
  'GET /site/../../secret.txt',
];

for (const request of outside) {
  test(`${request} gets nothing from outside of its root`, async () => {
    const response = await gw.expect(request, {});
    expect([400, 404, 410]).toContain(response.status);
    expect(response.body).not.toContain('secret');
    expect(response.body).not.toContain('beside');
  });
}

const inside = [
  'GET /i/a.gif',
  'GET /ia.gif',
  'GET /half/a.gif',
  'GET /half../b.gif',
  'GET /u/a.gif',
  'GET /r/x?p=a.gif',
  'GET /p/a.gif?p=img',
  'GET /up/a.gif',
  'GET /t/x?p=img/a.gif',
  'GET /ta/x?p=a.gif',
  'GET /variable-up?p=img/a.gif',
];

for (const request of inside) {
  test(`${request} gets a file inside of its root`, async () => {
    await gw.expect(request, { status: 200, body: 'inside' });
  });
}

test('a path that would lead out of the root is logged', async () => {
  await gw.fetch('/i../logged.txt');
  const [line] = await gw.waitForLog(
    /^.*unsafe URI "\/i\.\.\/logged\.txt" was detected, client: 127\.0\.0\.1.*$/m,
  );
  expect(line).toContain('[error]');
});

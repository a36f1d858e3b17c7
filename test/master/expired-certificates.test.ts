import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { startGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';

test.runIf(HAS_OPENSSL)(
  'certificates that have expired are errors of the start and of each reload, whoever shows them',
  async (t) => {
    const certificates = new Certificates();
    t.onTestFinished(() => rmSync(certificates.dir, { recursive: true, force: true }));
    certificates.authority('ca');
    for (const name of ['server', 'client', 'good'])
      certificates.signed(name, 'ca', { days: name === 'good' ? 9 : 0 });
    const files = Object.fromEntries(
      ['server', 'client', 'good'].flatMap((name) =>
        ['crt', 'key'].map((end) => [`${name}.${end}`, certificates.read(`${name}.${end}`)] as const),
      ),
    );
    const tls = await freePort();
    const conf = `server { location / { if ($arg_x) { proxy_pass https://127.0.0.1:1; } proxy_pass https://127.0.0.1:1;
        proxy_ssl_certificate client.crt; proxy_ssl_certificate_key client.key; } }
      server { listen 127.0.0.1:${tls} ssl; server_name a.test; ssl_certificate server.crt; ssl_certificate_key server.key; }
      server { listen 127.0.0.1:${tls} ssl; server_name b.test; ssl_certificate good.crt; ssl_certificate_key good.key; }`;
    const gw = await startGateway(t, conf, { files, fresh: true });
    const told = (from: number): readonly string[] =>
      [
        ...gw
          .errorLog()
          .slice(from)
          .matchAll(
            // A reload in the same second repeats the line.
            /\[error\] [\d#]+: (?:message repeated 1 times: ")?certificate "(?:[^"]*\/)?([^"/]+)" expired on \d{4}-\d\d-\d\d"?\n/g,
          ),
      ]
        .map(([, name = '']) => name)
        .toSorted();
    await expect.poll(() => told(0)).toEqual(['client.crt', 'server.crt']);
    const from = gw.errorLog().length;
    expect(await gw.reload(`${conf} server { location /other { return 204; } }`)).toBe('done');
    await expect.poll(() => told(from)).toEqual(['client.crt', 'server.crt']);
  },
);

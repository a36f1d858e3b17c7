import { expect, test } from 'vitest';
import { directoryWith, gw } from '../cli/command.ts';
import { startSupervised } from './processes.ts';

const SERVER = 'server { location /img { alias /srv/img/; } location / { return 200 served; } }';
const LINE =
  /\[warn\] \S+ GW301 alias-traversal: location "\/img" \+ alias "\/srv\/img\/" also serves "\/img\.\.\/" in \S+gw\.conf:\d+:\d+\n/;

test('findings are in the error log once the gateway serves, and again after a reload', async (t) => {
  const gateway = await startSupervised(t, SERVER, { main: 'check { log on; }' });
  await gateway.waitForLog(LINE);
  await gateway.expect('GET /', { status: 200, body: 'served' });
  const from = gateway.errorLog().length;
  expect(await gateway.reload(`autoindex on; ${SERVER}`)).toBe('done');
  await gateway.waitForLog(LINE, from);
  expect(gateway.errorLog()).not.toContain('GW317');
});

test('a reload with findings that the configuration refuses leaves the old configuration in place', async (t) => {
  const gateway = await startSupervised(t, 'server { location / { return 200 old; } }', {
    main: 'check { refuse error; }',
  });
  expect(await gateway.reload(SERVER)).toBe('refused');
  expect(gateway.errorLog()).toMatch(/\[error\] \S+ GW301 alias-traversal: .* in \S+gw\.conf:\d+:\d+\n/);
  await gateway.expect('GET /', { status: 200, body: 'old' });
});

test('a configuration with findings that it refuses does not start', async (t) => {
  const dir = directoryWith(t, {
    'gw.conf': `check { refuse error; }\npid gw.pid; error_log stderr;\nhttp { ${SERVER} }\n`,
  });
  const said = await gw(dir, ['-p', dir, '-c', 'gw.conf']);
  expect(said).toMatchObject({ code: 1, stdout: '' });
  expect(said.stderr).toMatch(/^gw: \[emerg\] GW301 alias-traversal: .* in gw\.conf:3:\d+\n/);
});

import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const MISSING =
  /\[error\].*open\(\) ".*" failed.*, client: 127\.0\.0\.1, server: .*, request: "GET (\/\w+) HTTP\/1\.1"/;

test('error_log of a server or location has the lines of that server or location only', async (t) => {
  const gw = await load(
    t,
    `root missing;
     server {
       location /main { }
       location /own { error_log own.log; location /own/inner { } }
     }
     server { server_name other.example; error_log server.log error; location / { } }`,
  );
  await gw.fetch('/main');
  await gw.fetch('/own');
  await gw.fetch('/own/inner');
  await gw.fetch('/elsewhere', { headers: { host: 'other.example' } });
  expect((await gw.waitForLog(MISSING))[1]).toBe('/main');
  expect(gw.errorLog().match(/open\(\) /g)).toHaveLength(1);
  await expect.poll(() => gw.read('own.log').match(/open\(\) /g)).toHaveLength(2);
  await expect.poll(() => MISSING.exec(gw.read('server.log'))?.[1]).toBe('/elsewhere');
});

test('an error log has no lines below its level', async (t) => {
  const gw = await load(
    t,
    'root missing; server { location /quiet { error_log quiet.log crit; } location / { } }',
  );
  await gw.fetch('/quiet');
  await gw.fetch('/loud');
  await gw.waitForLog(/request: "GET \/loud/);
  expect(gw.read('quiet.log')).toBe('');
});

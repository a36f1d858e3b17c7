import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const DROPPED =
  /\[error\].*header "X-A" is dropped.*, client: 127\.0\.0\.1, server: .*, request: "GET (\/\w+) HTTP\/1\.1"/;

test('error_log of a server or location has the lines of that server or location only', async (t) => {
  const gw = await load(
    t,
    `add_header X-A "a\\nb";
     server {
       location /main { return 200; }
       location /own { error_log own.log; return 200; location /own/inner { return 200; } }
     }
     server { server_name other.example; error_log server.log error; location / { return 200; } }`,
  );
  await gw.fetch('/main');
  await gw.fetch('/own');
  await gw.fetch('/own/inner');
  await gw.fetch('/elsewhere', { headers: { host: 'other.example' } });
  expect((await gw.waitForLog(DROPPED))[1]).toBe('/main');
  expect(gw.errorLog().match(/is dropped/g)).toHaveLength(1);
  await expect.poll(() => gw.read('own.log').match(/is dropped/g)).toHaveLength(2);
  await expect.poll(() => DROPPED.exec(gw.read('server.log'))?.[1]).toBe('/elsewhere');
});

test('an error log has no lines below its level', async (t) => {
  const gw = await load(
    t,
    'add_header X-A "a\\nb"; server { location /quiet { error_log quiet.log crit; return 200; } location / { return 200; } }',
  );
  await gw.fetch('/quiet');
  await gw.fetch('/loud');
  await gw.waitForLog(/request: "GET \/loud/);
  expect(gw.read('quiet.log')).toBe('');
});

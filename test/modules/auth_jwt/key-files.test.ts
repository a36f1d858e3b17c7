import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { testLoadFaults } from '../../harness/load-faults.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

testLoadFaults(import.meta.url);

const load = oneGateway();
const NEW = 'a new secret of at least thirty-two bytes';

const keys = (secret: string): string =>
  JSON.stringify({ keys: [{ kty: 'oct', k: Buffer.from(secret).toString('base64url') }] });
const statusOf = async (gw: Gateway, secret: string, path = '/'): Promise<number> =>
  (await gw.fetch(path, { headers: bearer(sign({ sub: 'ann' }, { secret })) })).status;

async function until(what: () => Promise<boolean>): Promise<void> {
  await expect.poll(what, { timeout: 10_000 }).toBe(true);
}

test('a changed key file is read again, and a broken one leaves the last keys', async (t) => {
  const gw = await load(t, 'server { location / { auth_jwt api; auth_jwt_key_file keys.json; echo x; } }', {
    'keys.json': keys(SECRET),
  });
  const file = join(gw.dir, 'keys.json');
  expect(await statusOf(gw, SECRET)).toBe(200);
  writeFileSync(file, keys(NEW));
  await until(async () => (await statusOf(gw, NEW)) === 200);
  expect(await statusOf(gw, SECRET)).toBe(401);
  writeFileSync(file, '{"keys":');
  await until(async () => {
    expect(await statusOf(gw, NEW)).toBe(200);
    return /\[error\] .*the keys in ".*keys\.json" cannot be used: malformed JSON/.test(gw.errorLog());
  });
  rmSync(file);
  await until(async () => {
    expect(await statusOf(gw, NEW)).toBe(200);
    return /\[error\] .*open\(\) ".*keys\.json" failed \(2: No such file or directory\)/.test(gw.errorLog());
  });
});

test('a file that is missing refuses no token that another one verifies', async (t) => {
  const conf = `server { location / { auth_jwt api; auth_jwt_key_file keys.json; auth_jwt_key_file $arg_f.json; echo x; }
    location /none { auth_jwt api; echo x; } }`;
  const gw = await load(t, conf, { 'keys.json': keys(SECRET), 'new.json': keys(NEW) });
  expect(await statusOf(gw, SECRET, '/?f=missing')).toBe(200);
  expect(await statusOf(gw, NEW, '/?f=new')).toBe(200);
  expect(await statusOf(gw, NEW, '/?f=missing')).toBe(500);
  await gw.waitForLog(
    /\[error\] .*open\(\) ".*missing\.json" failed \(2: No such file or directory\), client: /,
  );
  expect(await statusOf(gw, NEW, '/?f=../new')).toBe(500);
  await gw.waitForLog(/unsafe key file name "\.\.\/new\.json"/);
  expect(await statusOf(gw, SECRET, '/none')).toBe(500);
  await gw.waitForLog(
    /\[error\] .*"auth_jwt" has no keys here: neither "auth_jwt_key_file" nor "auth_jwt_key_request" is set, client: /,
  );
});

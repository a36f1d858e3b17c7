import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { smallDisk } from '../../harness/small-disk.ts';

test('lines for a full disk are told in the error log, and counted when the log ends', async (t) => {
  const disk = smallDisk(t, '64k');
  if (disk === undefined) return t.skip('this account cannot mount a file system');
  expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(100_000))).toThrow('ENOSPC');
  const path = join(disk, 'access.log');
  const confOf = (log: string): string =>
    `server { location / { ${log} return 200; } location = /metrics { access_log off; control_api metrics; } }`;
  const gw = await startGateway(t, confOf(`access_log ${path};`), { expectAlerts: true });
  for (let nth = 0; nth < 3; nth++) await gw.expect('GET /', { status: 200 });
  await gw.waitForLog(/\[alert\] .*: write\(\) ".*\/access\.log" failed \(28: No space left on device\)\n/);
  // Until then, they wait for room.
  expect(await gw.reload(confOf('access_log off;'))).toBe('done');
  await gw.waitForLog(
    /\[error\] .*: 3 lines of ".*\/access\.log" are lost: they could not be written before the end\n/,
  );
  const { body } = await gw.fetch('/metrics');
  expect(body).toContain(`\ngw_log_dropped_total{log="${path}"} 3\n`);
});

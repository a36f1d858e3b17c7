import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import { freeLowPort } from '../harness/ports.ts';
import { perTier } from '../harness/tier.ts';
import { installation, OTHER_VERSION, upgraded } from './installed.ts';
import { Lanes } from './lanes.ts';
import { masterPid, startSupervised } from './processes.ts';
import { getOverUnix, IS_ROOT, NOBODY, rightsOf, startAsNobody } from './rights.ts';

const LIMIT_MS = 600_000;
const EVENT = '{"type":"t"}';
const UPLOAD_BYTES = 1_000;
const HEAD = `POST /events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`;
const CONF = `server {
  location / { return 200 ok; }
  location /events { worker_events_api; worker_events_zone z; worker_events_channel c; }
  location /stream { worker_events_api; worker_events_stream on; worker_events_zone z; worker_events_channel c; }
}`;

/** Begins an upload that is never silent for long; the result completes it and resolves to the response. */
async function slowUpload(gw: Gateway): Promise<() => Promise<string>> {
  const connection = await gw.connect();
  connection.write(HEAD);
  let sent = 0;
  const drip = setInterval(() => {
    sent += 1;
    connection.write(' ');
  }, 250);
  return () => {
    clearInterval(drip);
    connection.write(EVENT.padStart(UPLOAD_BYTES - sent));
    return connection.until(/\}$/);
  };
}

for (const engine of ['auto', 'node'] as const) {
  test(
    `upgrades in a row lose no request, whoever sends it (http_engine ${engine})`,
    { timeout: LIMIT_MS },
    async (t) => {
      const { program, install } = installation(t);
      const gw = await startSupervised(t, CONF, {
        program,
        workers: 2,
        main: `http_engine ${engine}; worker_shutdown_timeout 60s;`,
      });
      const lanes = new Lanes({ port: gw.port, fresh: 8, kept: 8 });
      for (let round = 0; round < perTier({ short: 3, long: 50 }); round += 1) {
        const upload = await slowUpload(gw);
        const stream = await gw.connect();
        stream.write('GET /stream HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n');
        await stream.until(/200 OK[^]*\r\n\r\n/);
        const before = masterPid(gw);
        if (round === 0) install(OTHER_VERSION);
        expect(await upgraded(gw)).toMatchObject({ isDone: true });
        expect(masterPid(gw)).not.toBe(before);
        await lanes.responses(100);
        // The stream ends with its last chunk, the upload is served by the program that it began with.
        expect(await stream.closed).toMatch(/\r\n0\r\n\r\n$/);
        expect(await upload()).toContain('"published"');
        await gw.waitForLog(new RegExp(`\\] ${before}#0: exit$`, 'm'));
      }
      const { failures } = await lanes.stop();
      expect(failures).toEqual([]);
      expect(gw.errorLog()).toContain('gw/0.1.0 was upgraded to gw/0.1.0-next');
    },
  );
}

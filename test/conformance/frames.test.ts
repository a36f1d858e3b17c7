import { beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { ACK, FRAME, frame, openHttp2Bytes, type RawHttp2 } from '../harness/http2-frames.ts';
import { wholeFile } from '../harness/owner.ts';
import { startPeer } from '../harness/peer.ts';
import { type FramesCase, GREETING, type Sections } from './frames/case.ts';
import { CONNECTION } from './frames/connection.ts';
import { FRAMES } from './frames/frames.ts';
import { MESSAGES } from './frames/messages.ts';
import { END, outcomeOf } from './frames/outcome.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';

/*
 * Frames that a client sends to gw, and to nginx 1.22, section by section of RFC 9113 (as h2spec has them). Both do what is
 * recorded for nginx, but where a case says what gw does instead, and why.
 */
const SECTIONS: Sections = { ...CONNECTION, ...FRAMES, ...MESSAGES };

const file = wholeFile();
let gw: Gateway;
let ports: Readonly<Record<'nginx' | 'gw', number>>;
beforeAll(async () => {
  const [fine, silent] = [
    await startPeer(file, 'fine', (request, response) => void request.on('end', () => response.end('fine'))),
    await startPeer(file, 'silent', () => undefined),
  ];
  const locations = `location / { return 200 fine; } location /wait { proxy_pass http://127.0.0.1:${silent.port}; }
    location /post { proxy_pass http://127.0.0.1:${fine.port}; proxy_hide_header Connection; proxy_http_version 1.1; }`;
  gw = await startGateway(file, `http2 on; server { http2_max_concurrent_streams 10; ${locations} }`);
  const nginx = HAS_NGINX
    ? await startNginx(
        file,
        `server { listen 127.0.0.1:PORT http2; http2_max_concurrent_streams 10; ${locations} }`,
      )
    : 0;
  ports = { gw: gw.port, nginx };
});

/** Waits for an outcome; then asks for a response to a ping, before which anything else would have come. */
async function expectOutcome(client: RawHttp2, wanted: readonly string[]): Promise<void> {
  const isOver = (): boolean => client.isClosed || /connection: /.test(outcomeOf(client));
  await expect.poll(() => outcomeOf(client), { timeout: 3_000, interval: 5 }).toBeOneOf([...wanted]);
  client.send(frame(FRAME.ping, { payload: END }));
  const hasPong = (): boolean =>
    client.frames.some(
      ({ type, flags, payload }) => type === FRAME.ping && flags === ACK && payload.equals(END),
    );
  await expect.poll(() => hasPong() || isOver(), { interval: 5 }).toBe(true);
  expect(outcomeOf(client)).toBeOneOf([...wanted]);
}

async function expectPlayed(
  port: number,
  { sent, greeting = GREETING }: FramesCase,
  wanted: string | readonly string[],
): Promise<void> {
  const client = await openHttp2Bytes(port, greeting);
  try {
    for (const step of sent) {
      if ('until' in step)
        await expect.poll(() => outcomeOf(client), { timeout: 3_000, interval: 5 }).toContain(step.until);
      else client.send(step);
    }
    await expectOutcome(client, [wanted].flat());
  } finally {
    client.destroy();
  }
}

for (const [section, cases] of Object.entries(SECTIONS)) {
  describe(section, () => {
    for (const one of cases) {
      test.runIf(HAS_NGINX)(`${one.it} (nginx)`, () => expectPlayed(ports.nginx, one, one.nginx));
      test(`${one.it} (gw)`, () => expectPlayed(ports.gw, one, one.gw ?? one.nginx));
    }
  });
}

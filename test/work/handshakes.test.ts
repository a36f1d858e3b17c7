import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect } from 'node:tls';
import { beforeAll, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { END_STREAM, FrameReader, frame, FRAME, getFrame, PREFACE } from '../harness/http2-frames.ts';
import { wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { type Calls, expectCalls, skipUntraced, TIMES } from './counted.ts';
import { whyNotTraced } from './strace.ts';

const WARM_UP = 60;

/** One connection with one request; the client waits for the whole response, and closes. */
interface Protocol {
  readonly alpn: string;
  readonly sent: Buffer;
  /** Called with all bytes so far. */
  isWhole(received: Buffer): boolean;
}

const HTTP1: Protocol = {
  alpn: 'http/1.1',
  sent: Buffer.from('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'),
  isWhole: (received) => received.includes('\r\n\r\nfine'),
};

const HTTP2: Protocol = {
  alpn: 'h2',
  sent: Buffer.concat([PREFACE, frame(FRAME.settings), getFrame(1, '/')]),
  isWhole: (received) =>
    new FrameReader().read(received).some(({ type, flags }) => type === FRAME.data && flags === END_STREAM),
};

/** A client that opens one connection after the other. */
class Client {
  readonly #port: number;
  readonly #protocol: Protocol;
  readonly #resumes: boolean;
  #session: Buffer | undefined;

  constructor(port: number, protocol: Protocol, resumes: boolean) {
    this.#port = port;
    this.#protocol = protocol;
    this.#resumes = resumes;
  }

  async open(times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      const resumes = this.#session !== undefined;
      if ((await this.#exchange()) !== resumes) throw new Error('a session was not resumed, or one was');
    }
  }

  /** Returns whether the session was resumed. */
  async #exchange(): Promise<boolean> {
    const { alpn, sent, isWhole } = this.#protocol;
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: [alpn],
      ...(this.#session && { session: this.#session }),
    });
    socket.on('session', (session: Buffer) => {
      if (this.#resumes) this.#session = session;
    });
    socket.write(sent);
    let received: Buffer = Buffer.alloc(0);
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject).on('data', (bytes: Buffer) => {
        received = Buffer.concat([received, bytes]);
        if (isWhole(received)) resolve();
      });
    });
    const isResumed = socket.isSessionReused();
    socket.end();
    await once(socket, 'close');
    return isResumed;
  }
}

/** What a connection takes besides its bytes. */
const OPENED: Calls = { accept4: 1, getpeername: 2, getsockname: 1, close: 1 };
/** Sent: the server's part of the handshake, a ticket unless one was shown, the response, the end of TLS. */
const FULL: Calls = { receive: 3, send: 4 };
const RESUMED: Calls = { receive: 3, send: 3 };
const ON_HTTP1: Calls = { ...OPENED, epoll_ctl: 2, setsockopt: 1, shutdown: 1 };
const ON_HTTP2: Calls = { ...OPENED, epoll_ctl: 4, setsockopt: 2 };

const cases: readonly { it: string; protocol: Protocol; resumes: boolean; calls: Calls }[] = [
  { it: 'HTTPS with a full handshake', protocol: HTTP1, resumes: false, calls: { ...FULL, ...ON_HTTP1 } },
  { it: 'HTTPS with a resumed session', protocol: HTTP1, resumes: true, calls: { ...RESUMED, ...ON_HTTP1 } },
  { it: 'HTTP/2 with a full handshake', protocol: HTTP2, resumes: false, calls: { ...FULL, ...ON_HTTP2 } },
  { it: 'HTTP/2 with a resumed session', protocol: HTTP2, resumes: true, calls: { ...RESUMED, ...ON_HTTP2 } },
];

const file = wholeFile();
let gw: Gateway;
let port: number;
let untraced: string | undefined;
beforeAll(async () => {
  if (!HAS_OPENSSL) return;
  const certificates = new Certificates();
  file.onTestFinished(async () => rmSync(certificates.dir, { recursive: true }));
  certificates.authority('a');
  port = await freePort();
  gw = await startGateway(
    file,
    `access_log off; http2 on; server { listen 127.0.0.1:${port} ssl; location / { return 200 fine; }
       ssl_certificate ${certificates.path('a.crt')}; ssl_certificate_key ${certificates.path('a.key')}; }`,
  );
  untraced = await whyNotTraced(gw.pid);
});

for (const { it, protocol, resumes, calls } of cases) {
  test.runIf(HAS_OPENSSL)(`a connection of ${it} takes no more system calls than it must`, async (t) => {
    skipUntraced(t, untraced);
    const client = new Client(port, protocol, resumes);
    await client.open(WARM_UP);
    await expectCalls(gw.pid, () => client.open(TIMES), calls);
  });
}

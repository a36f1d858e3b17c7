import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Problem } from './acme-jws.ts';
import type { Reply } from './acme-records.ts';
import { AcmeResources, type AuthorityOptions, type Step } from './acme-resources.ts';
import type { Owner } from './owner.ts';

/** What an authority does instead of a step: a problem, another response, silence, or the end of the connection. */
export type Misbehaviour =
  | ProblemOrder
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> }
  | 'hang'
  | 'close';

interface ProblemOrder {
  readonly problem: string;
  readonly status?: number;
  readonly detail?: string;
  readonly headers?: Record<string, string>;
  readonly subproblems?: readonly unknown[];
}

/** A step that waits. */
export interface Hold {
  /** Resolves when the step is asked for. */
  readonly reached: Promise<void>;
  /** Lets it go on, and those that follow. */
  release(): void;
}

/**
 * An authority for tests (RFC 8555, 8737, 8738, 9773, profiles, dns-persist-01) that takes nothing on trust: it verifies
 * signatures, nonces and external accounts, looks at challenges and signs with keys of its own. It misbehaves as told.
 */
export class AcmeAuthority extends AcmeResources {
  /** Every step that was asked for, in order. */
  readonly asked: Step[] = [];
  /** True: all connections are closed at once, as if nothing listened. */
  isAway = false;
  readonly #misbehaviours = new Map<Step, { readonly how: Misbehaviour; times: number }[]>();
  readonly #holds = new Map<Step, { reached: () => void; released: Promise<void> }>();

  /** Misbehaves the next times that a step is asked for. */
  fail(step: Step, how: Misbehaviour, times = 1): void {
    this.#misbehaviours.set(step, [...(this.#misbehaviours.get(step) ?? []), { how, times }]);
  }

  /** Ends what `fail` has begun. */
  behave(): void {
    this.#misbehaviours.clear();
  }

  /** Has the next request for a step wait, before anything is done for it. */
  hold(step: Step): Hold {
    let reached = (): void => undefined;
    let release = (): void => undefined;
    const arrival = new Promise<void>((resolve) => (reached = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#holds.set(step, { reached, released });
    return {
      reached: arrival,
      release: () => {
        this.#holds.delete(step);
        release();
      },
    };
  }

  /** Responds to a request. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const step = this.stepOf(request.url ?? '');
    if (step === undefined) return send(response, { status: 404, body: 'not found' });
    this.asked.push(step);
    const hold = this.#holds.get(step);
    hold?.reached();
    await hold?.released;
    const how = this.#next(step);
    if (how === 'hang') return;
    if (how === 'close') return void request.socket.destroy();
    // A refused request has its nonce used up all the same, and brings a new one.
    const nonce = { 'Replay-Nonce': this.newNonce() };
    if (how && 'problem' in how) return send(response, problemReply(problemOf(how), nonce));
    if (how) return send(response, { ...how, headers: { ...nonce, ...how.headers } });
    try {
      const asked = { step, method: request.method ?? '', path: request.url ?? '', headers: request.headers };
      const reply = await this.replyTo(asked, Buffer.concat(pieces).toString());
      send(response, { ...reply, headers: { ...(step !== 'directory' && nonce), ...reply.headers } });
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem(500, 'serverInternal', String(error));
      send(response, problemReply(problem, nonce));
    }
  }

  #next(step: Step): Misbehaviour | undefined {
    const [first, ...others] = this.#misbehaviours.get(step) ?? [];
    if (!first) return undefined;
    first.times -= 1;
    if (first.times <= 0) this.#misbehaviours.set(step, others);
    return first.how;
  }
}

function problemOf({ problem, status = 400, detail, headers = {}, subproblems }: ProblemOrder): Problem {
  return Object.assign(new Problem(status, problem, detail), { headers, subproblems });
}

function problemReply(problem: Problem, nonce: Record<string, string>): Reply {
  return {
    status: problem.status,
    body: JSON.stringify(problem.document()),
    headers: { 'Content-Type': 'application/problem+json', ...nonce, ...problem.headers },
  };
}

function send(response: ServerResponse, { status, body = '', headers }: Reply): void {
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...headers }).end(body);
}

/** Starts an authority on a free port of 127.0.0.1, over plain HTTP unless `tls` has a certificate. */
export async function startAuthority(t: Owner, options: AuthorityOptions = {}): Promise<AcmeAuthority> {
  const { tls } = options;
  const sockets = new Set<Socket>();
  const server = tls ? createTlsServer(tls) : createServer();
  await once(server.listen(options.port ?? 0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const authority = new AcmeAuthority(`${tls ? 'https' : 'http'}://127.0.0.1:${port}`, options);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    authority.serve(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket: Socket) => {
    if (authority.isAway) return void socket.destroy();
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  t.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await once(server.close(), 'close');
  });
  return authority;
}

import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { compileRegex } from '../http/index.ts';
import type { HeaderCondition, HealthCheck, HealthMatch } from './plan.ts';

/** What a probe found. */
export interface ProbeResult {
  readonly healthy: boolean;
  /** 0: there was no response. */
  readonly status: number;
  /** Why the peer is not healthy; '' if it is. */
  readonly reason: string;
}

/** A response as `match` sees it. */
interface ProbeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

const MAX_HEAD_BYTES = 64 * 1024;
/** As in NGINX Plus, more of a body is not looked at. */
const MAX_BODY_BYTES = 256 * 1024;

/** Sends the probes of one check to one peer. */
export class HealthProbe {
  readonly #check: HealthCheck;
  readonly #host: string;
  readonly #target: { readonly socketPath: string } | { readonly host: string; readonly port: number };
  readonly #fault: (response: ProbeResponse) => string;
  #agent: Agent | undefined;
  #agentUntilMs = 0;

  /** `host`: the name of the group, which the probe sends as `Host`. */
  constructor(check: HealthCheck, { address, host }: { readonly address: string; readonly host: string }) {
    this.#check = check;
    this.#host = host;
    this.#target = targetOf(address, check.port);
    this.#fault = compileMatch(check.match);
  }

  /** Probes once. Never rejects; takes no longer than the timeout of the check. */
  probe(): Promise<ProbeResult> {
    const { timeoutMs } = this.#check;
    return new Promise((resolve) => {
      const settle = (status: number, reason: string): void => {
        clearTimeout(timer);
        resolve({ healthy: reason === '', status, reason });
      };
      const sent = this.#send(settle);
      const timer = setTimeout(() => {
        settle(0, `no response within ${timeoutMs} ms`);
        sent.destroy();
      }, timeoutMs);
    });
  }

  #send(settle: (status: number, reason: string) => void): ClientRequest {
    const { uri, keepaliveMs } = this.#check;
    const isKept = keepaliveMs > 0;
    const headers = { Host: this.#host, 'User-Agent': 'gw', Connection: isKept ? 'keep-alive' : 'close' };
    const agent = isKept ? this.#keptAgent() : (false as const);
    const options = { ...this.#target, path: uri, agent, headers, maxHeaderSize: MAX_HEAD_BYTES };
    const sent = request(options, (response) => this.#receive(response, { sent, settle }));
    sent.on('error', ({ message }) => settle(0, message));
    sent.end();
    return sent;
  }

  #receive(
    response: IncomingMessage,
    { sent, settle }: { sent: ClientRequest; settle: (status: number, reason: string) => void },
  ): void {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const done = (): void => {
      const body = Buffer.concat(pieces).toString('latin1', 0, Math.min(bytes, MAX_BODY_BYTES));
      const status = response.statusCode ?? 0;
      settle(status, this.#judge({ status, headers: response.headers, body }));
    };
    response.on('data', (piece: Buffer) => {
      if (this.#check.match?.body && bytes < MAX_BODY_BYTES) pieces.push(piece);
      bytes += piece.length;
      if (bytes < MAX_BODY_BYTES) return;
      done();
      sent.destroy();
    });
    response.on('end', done);
    response.on('error', ({ message }) => settle(0, message));
  }

  close(): void {
    this.#agent?.destroy();
  }

  /** A pattern may need too many steps for a response: then that is no good response. */
  #judge(response: ProbeResponse): string {
    try {
      return this.#fault(response);
    } catch (error) {
      return (error as Error).message;
    }
  }

  #keptAgent(): Agent {
    const now = performance.now();
    if (!this.#agent || now >= this.#agentUntilMs) {
      this.#agent?.destroy();
      this.#agent = new Agent({ keepAlive: true, maxSockets: 1 });
      this.#agentUntilMs = now + this.#check.keepaliveMs;
    }
    return this.#agent;
  }
}

function targetOf(address: string, otherPort: number | undefined) {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length) };
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(address) ?? [];
  return { host: host.replace(/^\[|\]$/g, ''), port: otherPort ?? Number(port) };
}

/** Compiles the test of a response: '' if it is good, else why it is not. */
function compileMatch(match: HealthMatch | undefined): (response: ProbeResponse) => string {
  const { status, headers = [], body } = match ?? {};
  // As in NGINX Plus, a `match` without `status` accepts any.
  const ranges: NonNullable<HealthMatch['status']>['ranges'] =
    status?.ranges ?? (match ? [[100, 599]] : [[200, 399]]);
  const headerTests = headers.map(compileHeader);
  const bodyRegex = body && compileRegex(body.regex);
  return (response) => {
    const isIn = ranges.some(([first, last]) => response.status >= first && response.status <= last);
    if (isIn === (status?.not === true)) return `status ${response.status}`;
    const failed = headerTests.find(({ holds }) => !holds(response));
    if (failed) return `header "${failed.name}" does not match`;
    if (body && bodyRegex?.test(response.body) === body.not) return 'the body does not match';
    return '';
  };
}

function compileHeader(condition: HeaderCondition): {
  readonly name: string;
  readonly holds: (response: ProbeResponse) => boolean;
} {
  const { name } = condition;
  const valueOf = ({ headers }: ProbeResponse): string | undefined => {
    const value = headers[name];
    return typeof value === 'object' ? value.join(', ') : value;
  };
  switch (condition.is) {
    case 'present':
      return { name, holds: (response) => valueOf(response) !== undefined };
    case 'absent':
      return { name, holds: (response) => valueOf(response) === undefined };
    case 'equal':
      return { name, holds: (response) => valueOf(response) === condition.value };
    case 'unequal':
      return { name, holds: (response) => valueOf(response) !== condition.value };
    case 'matching':
    case 'not matching': {
      const regex = compileRegex(condition.regex);
      const wanted = condition.is === 'matching';
      return { name, holds: (response) => regex.test(valueOf(response) ?? '') === wanted };
    }
  }
}

import {
  type Caller,
  type Connection,
  type Connections,
  type ResponseHead,
  type UpstreamFault,
} from '../client/index.ts';
import { headerLines, requestLine } from '../http1/index.ts';
import type { Peer } from '../upstream/index.ts';
import { compileMatch, type Match, readsBody } from './match.ts';
import type { CheckPlan, ProbeRequest } from './plan.ts';

/** Largest head of a response; a larger one fails the probe. */
const HEAD_BYTES = 65_536;
/** Maximum bytes of a body that `match` uses. */
const BODY_BYTES = 262_144;

/** The outcome of a probe. */
export interface ProbeOutcome {
  /** The reason why it failed; absent after success. */
  readonly fault?: string;
  /** 0: there was no response. */
  readonly status: number;
  readonly spentMs: number;
}

/** The parts of a check that all its probes share. */
export interface CompiledCheck {
  readonly request: ProbeRequest;
  /** The bytes that are sent. */
  readonly text: string;
  readonly match: Match;
  readonly readsBody: boolean;
}

/** Compiles the request of a check and its rules. */
export function compileCheck({ request, rules }: Pick<CheckPlan, 'request' | 'rules'>): CompiledCheck {
  const { uri, version, headers, keepaliveMs } = request;
  const closes = keepaliveMs === 0 ? ['Connection', 'close'] : [];
  const text = `${requestLine('GET', uri, version)}${headerLines([...headers.flat(), ...closes])}\r\n`;
  return { request, text, match: compileMatch(rules), readsBody: readsBody(rules) };
}

/** One probe: a request to a peer and the verdict on its response. It calls `ended` once, unless it is cancelled. */
export class Probe implements Caller {
  readonly method = 'GET';
  readonly headLimitBytes = HEAD_BYTES;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly #check: CompiledCheck;
  readonly #ended: (outcome: ProbeOutcome) => void;
  readonly #startedMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #giveUp: (() => void) | undefined;
  #connection: Connection | undefined;
  #head: ResponseHead | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isOver = false;

  constructor(check: CompiledCheck, ended: (outcome: ProbeOutcome) => void) {
    const { sendTimeoutMs, readTimeoutMs, timeoutMs } = check.request;
    this.#check = check;
    this.#ended = ended;
    this.sendTimeoutMs = sendTimeoutMs;
    this.readTimeoutMs = readTimeoutMs;
    this.#timer = setTimeout(() => this.#settle('the probe timed out'), timeoutMs);
  }

  /** Sends the request, on a kept connection if there is one. */
  begin(peer: Peer, connections: Connections): void {
    const { tlsName } = this.#check.request;
    const name = connections.isTls ? tlsName : '';
    const kept = connections.take(peer, name);
    if (!kept) return this.#open(peer, connections);
    // The peer may have closed the connection meanwhile, which says nothing about its health.
    this.fault = (fault) => {
      this.fault = this.#refused;
      this.#connection = undefined;
      if (this.#isOver) return;
      if (fault.kind === 'error' && !this.#head) this.#open(peer, connections);
      else this.#refused(fault);
    };
    this.#use(kept);
  }

  /** Ends the probe without an outcome. */
  cancel(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#giveUp?.();
    this.#connection?.destroy();
    this.#giveUp = this.#connection = undefined;
    this.#pieces = [];
  }

  head(head: ResponseHead): void {
    this.#head = head;
    const { readsBody: needsBody, request } = this.#check;
    if (!needsBody && request.keepaliveMs === 0) this.#judge();
  }

  piece(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += bytes.length;
    if (this.#check.readsBody) this.#pieces.push(bytes);
    if (this.#bytes > BODY_BYTES) this.#judge();
  }

  end(): void {
    this.#connection = undefined;
    this.#judge();
  }

  readonly #refused = (fault: UpstreamFault): void => {
    this.#connection = undefined;
    this.#settle(fault.message);
  };

  fault: (fault: UpstreamFault) => void = this.#refused;

  follow(): void {}

  drained(): void {}

  switched(): void {
    this.#settle('the peer changed the protocol');
  }

  #open(peer: Peer, connections: Connections): void {
    const { connectTimeoutMs: timeoutMs, tlsName: name, sendsName } = this.#check.request;
    this.#giveUp = connections.open(
      peer,
      { timeoutMs, name, sendsName },
      { opened: (connection) => this.#use(connection), refused: this.#refused },
    );
  }

  #use(connection: Connection): void {
    this.#giveUp = undefined;
    this.#connection = connection;
    connection.begin(this, { head: this.#check.text }, undefined);
  }

  /** Compares the response with the rules. */
  #judge(): void {
    if (this.#isOver || !this.#head) return;
    const body = Buffer.concat(this.#pieces).toString('latin1', 0, BODY_BYTES);
    const spentMs = performance.now() - this.#startedMs;
    this.#settle(this.#check.match({ head: this.#head, body, spentMs }));
  }

  #settle(fault: string | undefined): void {
    if (this.#isOver) return;
    const status = this.#head?.status ?? 0;
    const spentMs = performance.now() - this.#startedMs;
    this.cancel();
    this.#ended({ ...(fault !== undefined && { fault }), status, spentMs });
  }
}

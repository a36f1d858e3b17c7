import { type ResponseHead, type Caller, type Carrier, LocalFault, UpstreamFault } from '../client/index.ts';
import type { Socket } from 'node:net';
import {
  beginSpan,
  type ChildSpan,
  failRequest,
  type Exchange,
  firstOf,
  headSent,
  HttpFault,
  isEventStream,
  logContext,
} from '../http/index.ts';
import type { ErrorLog, Level } from '../log/index.ts';
import type { Peer, Selection } from '../upstream/index.ts';
import type { ResponseDelivery } from './response-delivery.ts';
import type { ForwardingConfig } from './config.ts';
import { type BodyTaker, TAKES_NOTHING } from '../bodies/index.ts';
import type { ResponseKeeper } from '../cache/index.ts';
import type { Protocol, RequestHead, Target } from './protocol.ts';
import {
  beginTry,
  type NextRules,
  noteResponse,
  type Progress,
  type Try,
  upstreamFacts,
  type UpstreamFacts,
} from './tries.ts';
import { withSpan } from './traced-head.ts';
import type { Upload } from './upload.ts';

/** The rules that all requests of a location share. */
export interface ForwardingRules {
  readonly config: ForwardingConfig;
  readonly next: NextRules;
  readonly delivery: ResponseDelivery;
  readonly log: ErrorLog;
  readonly protocol: Pick<Protocol<Target>, 'tls'>;
}

/** A request as it is sent. */
interface OutgoingRequest {
  readonly target: Target;
  readonly uri: string;
  readonly head: RequestHead;
  readonly upload: Upload | undefined;
  /** Present if the response may be stored, or a stored one may be served instead. */
  readonly keeper?: ResponseKeeper;
}

/** Number of refusals that do not count as tries. A peer that refuses a request more often has failed. */
const MOST_REFUSALS = 3;
/** Number of closed kept connections that a request may meet. After that it gets a new one, which cannot be stale. */
const MOST_STALE = 3;

/** Sends one request to the peers of a group in turn, until one of them responds or none is left. */
export class Forwarding implements Caller {
  readonly x: Exchange;
  readonly method: string;
  readonly upgrades: Caller['upgrades'];
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly headLimitBytes: number;
  readonly subject: string | undefined;
  trailers: readonly string[] = [];
  readonly #rules: ForwardingRules;
  readonly #outgoing: OutgoingRequest;
  readonly #selection: Selection;
  readonly #facts: UpstreamFacts | undefined;
  readonly #startedMs: number;
  /** Tries that count for `proxy_next_upstream_tries`: see `#outcomeOf`. */
  #tries = 0;
  #current: Try | undefined = undefined;
  #connection: Carrier | undefined = undefined;
  #giveUp: (() => void) | undefined = undefined;
  #isReused = false;
  #refusals = 0;
  #stale = 0;
  /** The current try, if the parts of the request are recorded; and how many there were before it. */
  #span: ChildSpan | undefined = undefined;
  #resent = 0;
  #relay: BodyTaker | undefined = undefined;

  constructor(
    x: Exchange,
    outgoing: OutgoingRequest,
    { rules, selection }: { rules: ForwardingRules; selection: Selection },
  ) {
    const { config } = rules;
    this.x = x;
    this.#rules = rules;
    this.#outgoing = outgoing;
    this.#selection = selection;
    this.#startedMs = rules.next.isTimed ? performance.now() : 0;
    this.method = outgoing.head.method;
    this.upgrades = outgoing.head.upgrades;
    this.sendTimeoutMs = config.sendTimeoutMs;
    this.readTimeoutMs = config.readTimeoutMs;
    this.headLimitBytes = config.bufferSizeBytes;
    this.subject = outgoing.head.subject;
    this.#facts = upstreamFacts(x);
  }

  begin(): void {
    if (this.#outgoing.keeper) this.x.onAbort(() => this.#relay?.drop());
    else if (!this.#rules.config.ignoreClientAbort) this.x.onAbort(() => this.#leave());
    this.#tryNext();
  }

  head(head: ResponseHead): void {
    if (this.#facts) noteResponse(this.#facts, head, this.#connection);
    this.#span?.set('http.response.status_code', head.status);
    if (this.#rules.next.afterStatus(head.status, this.#progress())) {
      // nginx: a 403 or 404 does not count as a failure of the peer.
      this.#moveOn(head.status === 403 || head.status === 404 ? 'ok' : 'failed');
      return this.#tryNext();
    }
    const streams = isStream(head);
    this.#selection.headArrived(streams);
    this.#outgoing.upload?.forget();
    this.#relay = (this.#outgoing.keeper ?? this.#rules.delivery).take(this.x, head, this);
    if (this.#relay && streams) headSent(this.x);
    if (this.#relay) return;
    // A response that is not needed ends with its head if it has no body: the connection is free for other requests.
    if (head.bodyBytes === 0) this.#relay = TAKES_NOTHING;
    else this.#moveOn('ok');
  }

  piece(bytes: Buffer): void {
    if (this.#current) this.#current.bodyBytes += bytes.length;
    this.#relay?.piece(bytes);
  }

  follow(): void {
    this.#relay?.follow();
  }

  end(trailers: readonly string[] | undefined): void {
    this.#guard(() => {
      if (trailers) this.trailers = trailers;
      if (this.#facts) this.#facts.trailers = this.trailers;
      this.#settle('ok');
      this.#connection = undefined;
      this.#relay?.end();
    });
  }

  fault(fault: Error): void {
    this.#guard(() => this.#judge(fault));
  }

  #judge(fault: Error): void {
    const relay = this.#relay;
    if (!(fault instanceof UpstreamFault) || fault instanceof LocalFault) {
      this.withdraw();
      if (relay) return relay.cut();
      this.#outgoing.keeper?.drop();
      return failRequest(this.x, fault instanceof LocalFault ? new HttpFault(500, fault.message) : fault);
    }
    this.log(fault.level, fault.message);
    if (relay) {
      // nginx: an incomplete response does not count as a failure of the peer.
      this.#settle('ok');
      return relay.cut();
    }
    const outcome = this.#outcomeOf(fault);
    const status = fault.kind === 'timeout' ? 504 : 502;
    if (this.#current && this.#current.status === 0) this.#current.status = status;
    const isFree = outcome !== 'failed';
    if (isFree) this.#tries--;
    const progress = this.#progress(fault.isUnprocessed, isFree);
    this.#settle(outcome);
    if (this.x.done) return this.#outgoing.keeper?.drop();
    if (this.#rules.next.afterFault(fault, progress)) this.#tryNext();
    else this.#fail(status, fault.kind);
  }

  #outcomeOf(fault: UpstreamFault): 'stale' | 'unprocessed' | 'failed' {
    if (fault.isRefusal && this.#refusals++ < MOST_REFUSALS) return 'unprocessed';
    // nginx: a kept connection that the peer has closed does not use up a try. An open one would be used again.
    if (!this.#isReused || fault.kind !== 'error' || this.#connection?.isLost !== true) return 'failed';
    this.#stale++;
    return 'stale';
  }

  hints(head: ResponseHead): void {
    this.#rules.delivery.hint(this.x, head);
  }

  drained(): void {
    this.#outgoing.upload?.drained();
  }

  switched(head: ResponseHead, socket: Socket, rest: Buffer): void {
    if (this.#facts) noteResponse(this.#facts, head, this.#connection);
    this.#settle('ok');
    this.#connection = undefined;
    this.#outgoing.keeper?.drop();
    this.#guard(() => this.#rules.delivery.tunnel(this.x, head, { socket, rest }));
  }

  note(level: Level, message: string): void {
    this.log(level, message);
  }

  pause(): void {
    this.#connection?.pause();
  }

  resume(): void {
    this.#connection?.resume();
  }

  #tryNext(): void {
    this.#guard(() => {
      const peer = this.#selection.next();
      if (!peer) return this.#refuse();
      this.#tries++;
      this.#current = this.#facts && beginTry(this.#facts, peer.address);
      this.#span = this.#beginSpan(peer);
      this.#connect(peer);
    });
  }

  #beginSpan({ address }: Peer): ChildSpan | undefined {
    const { target } = this.#outgoing;
    const span = beginSpan(this.x, `${target.scheme} ${this.method}`, 'client')
      ?.set('http.request.method', this.method)
      .set('network.peer.address', address)
      .set('gw.upstream', target.group.name);
    if (this.#resent > 0) span?.set('http.request.resend_count', this.#resent);
    this.#resent++;
    return span;
  }

  /** Runs code in callbacks of sockets and timers: no caller could handle its exceptions. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      failRequest(this.x, error);
    }
  }

  #refuse(): void {
    const { group } = this.#outgoing.target;
    this.#current = this.#facts && beginTry(this.#facts, group.name);
    if (this.#current) this.#current.status = 502;
    this.log('error', 'no live upstreams while connecting to upstream');
    this.#fail(502, 'error');
  }

  #fail(status: 502 | 504, why: UpstreamFault['kind']): void {
    if (!this.#outgoing.keeper?.fails(status, why)) this.x.end(status);
  }

  #connect(peer: Peer): void {
    const { target } = this.#outgoing;
    const { connections } = target;
    const { tls } = this.#rules.protocol;
    const name = tls && connections.isTls ? tls.nameOf(this.x, target).replace(/:\d+$/, '') : '';
    const idle = this.#stale < MOST_STALE ? connections.take(peer, name) : undefined;
    this.#connection = undefined;
    this.#isReused = idle?.isKept === true;
    if (idle) return this.#use(idle);
    const { connectTimeoutMs: timeoutMs } = this.#rules.config;
    const sendsName = tls?.sendsName === true;
    this.#giveUp = connections.open(peer, { timeoutMs, name, sendsName }, this);
  }

  opened(connection: Carrier): void {
    this.#guard(() => this.#use(connection));
  }

  readonly refused = (fault: UpstreamFault): void => {
    this.#giveUp = undefined;
    this.fault(fault);
  };

  #use(connection: Carrier): void {
    const { head: common, upload } = this.#outgoing;
    const { trace } = this.x.main;
    const head = this.#span && trace ? withSpan(common, trace, this.#span.id) : common;
    this.#giveUp = undefined;
    this.#connection = connection;
    if (this.#current) this.#current.connectMs = performance.now() - this.#current.startedMs;
    connection.begin(this, head, upload?.bytes ?? (upload ? 'follows' : undefined));
    upload?.begin(connection, this);
  }

  /** Returns the state of the request. Must be called before the peer is released. */
  #progress(isUnprocessed = false, isFree = false): Progress {
    const { upload } = this.#outgoing;
    const others = Math.min(this.#selection.tries - 1, this.#rules.next.maxTries - this.#tries);
    const isSent = this.#connection !== undefined && !isUnprocessed;
    return {
      method: this.method,
      isSent,
      isSpent: upload?.isSpent === true && !(isUnprocessed && upload.isKept),
      startedMs: this.#startedMs,
      triesLeft: isFree ? Math.max(others, 1) : others,
    };
  }

  /** Releases the peer and closes its connection. */
  #moveOn(outcome: 'ok' | 'failed'): void {
    const connection = this.#connection;
    this.#settle(outcome);
    this.#connection = undefined;
    connection?.destroy();
  }

  #settle(outcome: Parameters<Selection['done']>[0]): void {
    const current = this.#current;
    const connection = this.#connection;
    if (current && current.responseMs < 0) {
      current.responseMs = performance.now() - current.startedMs;
      current.receivedBytes = connection?.bytesReceived ?? 0;
      current.sentBytes = connection?.bytesSent ?? 0;
    }
    this.#span?.end(outcome === 'failed' || outcome === 'stale');
    this.#span = undefined;
    this.#selection.done(outcome, this.x.main.trace);
  }

  /** Called when the client has closed the connection. The response of the upstream is no longer needed. */
  #leave(): void {
    const connection = this.#connection;
    if (!this.#giveUp && !connection) return;
    this.log('info', 'client prematurely closed connection, so upstream connection is closed too');
    this.withdraw();
    this.#relay?.drop();
  }

  /** Releases the peer without an outcome, and aborts the request to it. */
  withdraw(): void {
    const connection = this.#connection;
    const giveUp = this.#giveUp;
    this.#settle('unused');
    this.#giveUp = this.#connection = undefined;
    giveUp?.();
    connection?.destroy();
  }

  bodyLost(): void {
    const relay = this.#connection && this.#relay;
    this.withdraw();
    if (this.x.aborted) relay?.drop();
    else relay?.cut();
  }

  log(level: Level, message: string): void {
    const { target, uri } = this.#outgoing;
    const address = this.#selection.peer?.address ?? target.group.name;
    const separator = address.startsWith('unix:') ? ':' : '';
    const upstream = `${target.scheme}://${address}${separator}${uri}`;
    this.#rules.log.write(level, message, { ...logContext(this.x), upstream });
  }
}

/** Tells whether a response is a stream of events, whose length nobody knows. */
function isStream({ bodyBytes, headers }: ResponseHead): boolean {
  return bodyBytes < 0 && isEventStream(firstOf(headers, 'content-type') ?? '');
}

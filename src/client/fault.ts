import { systemReason } from '../system/index.ts';

/** The kind of a fault, in the words of `proxy_next_upstream`. */
type FaultKind = 'error' | 'timeout' | 'invalid_header';

/** The stage of a connection at which a fault occurred, in nginx's words. */
export type Stage =
  | 'connecting to upstream'
  | 'SSL handshaking to upstream'
  | 'sending request to upstream'
  | 'reading response header from upstream'
  | 'reading upstream';

/** The reason why a peer gave no complete response. The message is nginx's and goes to the error log only. */
export class UpstreamFault extends Error {
  readonly kind: FaultKind;
  /** The peer has not begun with the request, so it may be sent again whatever its method is (RFC 9113, 8.7). */
  readonly isUnprocessed: boolean = false;
  /** The peer has refused this request, but works: the same one may be asked again. */
  readonly isRefusal: boolean = false;
  /** The level of its line in the error log. */
  readonly level: 'error' | 'crit';

  constructor(kind: FaultKind, message: string, level: 'error' | 'crit' = 'error') {
    super(message);
    this.kind = kind;
    this.level = level;
  }
}

/** The peer has refused a request, or its connection ended, before it looked at it. */
export class UnprocessedFault extends UpstreamFault {
  override readonly isUnprocessed = true;
  override readonly isRefusal = true;

  constructor(message: string) {
    super('error', message);
  }
}

/**
 * The connection ended before the peer said a word. It has not begun with the request that was sent at once, so it counts
 * as one that could not be reached.
 */
export class UnheardFault extends UpstreamFault {
  override readonly isUnprocessed = true;

  constructor({ message, level }: UpstreamFault) {
    super('error', message, level);
  }
}

/** Returns the fault of a response that violates HTTP; its connection is not used again. */
export function invalidResponse(
  message: string,
  stage: Stage = 'reading response header from upstream',
): UpstreamFault {
  return new UpstreamFault('invalid_header', `${message} while ${stage}`);
}

/** Returns the fault of a timeout, with nginx's message. */
export function timedOut(stage: Stage): UpstreamFault {
  return new UpstreamFault('timeout', `upstream timed out (110: Connection timed out) while ${stage}`);
}

const CALLS: Readonly<Record<Stage, string>> = {
  'connecting to upstream': 'connect()',
  'SSL handshaking to upstream': 'SSL_do_handshake()',
  'sending request to upstream': 'writev()',
  'reading response header from upstream': 'recv()',
  'reading upstream': 'recv()',
};

/** The local address of a connection is not available, which is no fault of the peer. */
export class LocalFault extends UpstreamFault {
  constructor(message: string) {
    super('error', message);
  }
}

/** Returns the fault for an error of the operating system. */
export function systemFault(
  error: NodeJS.ErrnoException & { address?: string; port?: number },
  stage: Stage,
): UpstreamFault {
  if (error.syscall === 'bind') {
    const { address = '', port = 0 } = error;
    return new LocalFault(`bind(${address}:${port}) failed (${systemReason(error)}) while ${stage}`);
  }
  if (error.code === 'ETIMEDOUT') return timedOut(stage);
  const isUnix = error.syscall === 'connect' && error.address !== undefined && error.port === undefined;
  const call = isUnix ? `connect() to unix:${error.address}` : CALLS[stage];
  const level = error.syscall === 'connect' && !USUAL.has(error.code ?? '') ? 'crit' : 'error';
  return new UpstreamFault('error', `${call} failed (${systemReason(error)}) while ${stage}`, level);
}

/** Errors of failing peers and networks; all others are faults of this machine (nginx ngx_event_connect_peer). */
const USUAL: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EAGAIN',
  'ECONNRESET',
  'ENETDOWN',
  'ENETUNREACH',
  'EHOSTDOWN',
  'EHOSTUNREACH',
]);

/** Returns the fault of a peer that closed the connection before its response was complete. */
export function closedEarly(stage: Stage): UpstreamFault {
  return new UpstreamFault('error', `upstream prematurely closed connection while ${stage}`);
}

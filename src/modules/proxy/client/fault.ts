/** Whether another peer may be asked: `proxy_next_upstream`'s words for what can go wrong on the wire. */
export type FaultKind = 'error' | 'timeout' | 'invalid_header';

/** What a connection was busy with, in nginx's words. */
export type Stage =
  | 'connecting to upstream'
  | 'SSL handshaking to upstream'
  | 'sending request to upstream'
  | 'reading response header from upstream'
  | 'reading upstream';

/** Why a peer gave no (whole) answer; the message is nginx's, for the error log alone. */
export class UpstreamFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** An answer that breaks HTTP: its connection is not used again. */
export function invalidAnswer(
  message: string,
  stage: Stage = 'reading response header from upstream',
): UpstreamFault {
  return new UpstreamFault('invalid_header', `${message} while ${stage}`);
}

/** nginx's line for a silence that was too long. */
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

/** The system's words for what it refuses, as nginx prints them: `104: Connection reset by peer`. */
const ERRNO: Readonly<Record<string, string>> = {
  ECONNREFUSED: '111: Connection refused',
  ECONNRESET: '104: Connection reset by peer',
  EPIPE: '32: Broken pipe',
  EHOSTUNREACH: '113: No route to host',
  ENETUNREACH: '101: Network is unreachable',
  EADDRNOTAVAIL: '99: Cannot assign requested address',
  EADDRINUSE: '98: Address already in use',
  ETIMEDOUT: '110: Connection timed out',
  ENOENT: '2: No such file or directory',
  EACCES: '13: Permission denied',
  ECONNABORTED: '103: Software caused connection abort',
  EMFILE: '24: Too many open files',
};

/** What the system said of a connection. */
export function systemFault(error: Error & { readonly code?: string }, stage: Stage): UpstreamFault {
  const { code } = error;
  if (code === 'ETIMEDOUT') return timedOut(stage);
  const words = code === undefined ? undefined : ERRNO[code];
  const message =
    words === undefined
      ? `${CALLS[stage]} failed (${error.message}) while ${stage}`
      : `${CALLS[stage]} failed (${words}) while ${stage}`;
  return new UpstreamFault('error', message);
}

/** The peer closed before its answer was complete. */
export function closedEarly(stage: Stage): UpstreamFault {
  return new UpstreamFault('error', `upstream prematurely closed connection while ${stage}`);
}

import { systemReason } from '../../../system/index.ts';

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
export function invalidResponse(
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

/** What the system said of a connection. */
export function systemFault(error: Error & { readonly code?: string }, stage: Stage): UpstreamFault {
  if (error.code === 'ETIMEDOUT') return timedOut(stage);
  return new UpstreamFault('error', `${CALLS[stage]} failed (${systemReason(error)}) while ${stage}`);
}

/** The peer closed before its answer was complete. */
export function closedEarly(stage: Stage): UpstreamFault {
  return new UpstreamFault('error', `upstream prematurely closed connection while ${stage}`);
}

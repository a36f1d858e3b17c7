import type { Duplex } from 'node:stream';
import type { AnswerRules, ConnectionFacts, PortFacts } from '../../../http/index.ts';
import type { Head } from './head-reader.ts';
import type { NodePort } from './node-port.ts';
import type { RequestSource } from './request-source.ts';

/** What a connection wants to know of an exchange that is over. */
export interface Answered {
  /** The connection ends with this answer. */
  readonly closes: boolean;
  readonly rules: AnswerRules;
}

/** The connection, as far as a request on it goes. */
export interface ExchangeLine {
  readonly facts: ConnectionFacts;
  readonly serial: number;
  readonly peerAddress: string;
  readonly peerPort: number;
  readonly port: PortFacts;
  /** What was written is not all on its way. */
  readonly isFull: boolean;
  write(...pieces: readonly (string | Uint8Array)[]): void;
  /** Resolves when all is on its way, or nobody is left; a client that takes nothing for `timeoutMs` is cut. */
  flushed(timeoutMs: number): Promise<void>;
  /** The answer is complete. */
  answered(x: Answered): void;
  /** The connection speaks another protocol from now on: its socket, with what came of that already. */
  handOver(): Duplex;
  /** Closes at once. */
  cut(): void;
}

/** What a connection hands to the exchange of a request. */
export interface Received {
  readonly head: Head;
  readonly source: RequestSource;
  readonly line: ExchangeLine;
  readonly open: NodePort;
}

import type { Client, Connection } from 'pg';

/** What is used of the loaded driver. */
export type Pg = Pick<typeof import('pg'), 'Client' | 'Connection'>;

/** Members of pg's `Connection` that its type declarations leave out. */
export interface WireConnection extends Connection {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

/** Members of pg's `Client` that its type declarations leave out. */
export interface WireClient extends Client {
  readonly processID: number;
  readonly secretKey: number;
}

/** A server's error as pg gives it. */
export interface WireError extends Error {
  readonly code?: string;
  readonly severity?: string;
  readonly detail?: string;
  readonly hint?: string;
  /** Where it came up within a function; absent: in the statement itself. */
  readonly where?: string;
  /** The character of the statement that it is about: the statement could not even be planned. */
  readonly position?: string;
  /** The function of the server that raised it: unlike the message, the same in every language. */
  readonly routine?: string;
}

/** One row, every column as text. */
export type Row = readonly (string | null)[];

/** A column of a result. */
export interface Column {
  readonly name: string;
  /** Object id of its type. */
  readonly dataTypeID: number;
}

import { connect, type Socket } from 'node:net';
import type { Load } from '../protocol.ts';

/** Sends one request at a time. */
export interface Lane {
  /** `turn` picks one of the requests of the load. */
  send(turn: number, onResponse: () => void): void;
}

export interface LaneEvents {
  /** The lane can send. */
  opened(lane: Lane): void;
  /** What must not happen: another status than 2xx, or the end of a connection. */
  failed(reason: string): void;
}

export type OpenLanes = (load: Pick<Load, 'port' | 'requests' | 'lanes'>, events: LaneEvents) => void;

/** Opens a connection that is kept until the generator ends. */
export function openSocket(
  port: number,
  { failed }: Pick<LaneEvents, 'failed'>,
  opened?: () => void,
): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, opened);
  socket.on('error', (error) => failed(error.message));
  socket.on('close', () => failed('the server closed a connection'));
  return socket;
}

import type { ServerHttp2Stream } from 'node:http2';
import { endOf, type Failing } from '../transport.ts';

/** Learns what becomes of a stream. */
export interface StreamObserver extends Failing {
  /** The last byte of the response is in a frame, or Node.js has ended a stream that was aborted. */
  streamFinished(): void;
  /** Called once, after all other calls. */
  streamClosed(): void;
}

const OBSERVER = Symbol('observer');

interface ObservedStream extends ServerHttp2Stream {
  [OBSERVER]?: StreamObserver | undefined;
}

/**
 * Reports the end of a stream to an observer. All streams have the same listeners, and lose their observer in the end:
 * `node:http2` keeps some streams for long after they are closed, and would keep their requests with them.
 */
export function observe(stream: ServerHttp2Stream, observer: StreamObserver): void {
  reportTo(stream, observer);
  stream.on('error', ignore).on('finish', finished).on('close', closed);
}

/** Replaces the observer of a stream. */
export function reportTo(stream: ServerHttp2Stream, observer: StreamObserver): void {
  (stream as ObservedStream)[OBSERVER] = observer;
}

/** Without a listener, Node.js turns an error of the stream into an exception. The event `close` follows. */
function ignore(): void {}

function finished(this: ObservedStream): void {
  report(this[OBSERVER], 'streamFinished');
}

function closed(this: ObservedStream): void {
  const observer = this[OBSERVER];
  this[OBSERVER] = undefined;
  report(observer, 'streamClosed');
}

function report(observer: StreamObserver | undefined, event: 'streamFinished' | 'streamClosed'): void {
  try {
    observer?.[event]();
  } catch (error) {
    if (observer) endOf(observer, error);
  }
}

import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  fieldBlock,
  frame,
  PREFACE,
  settingsFrame,
} from '../../harness/http2-frames.ts';

/** Frames are sent at once, up to a text that the outcome has to have first. */
export type Step = Uint8Array | { readonly until: string };

/** What a client sends, and what comes back. */
export type FramesCase = Exchange & (Alike | Different);

interface Exchange {
  readonly it: string;
  readonly sent: readonly Step[];
  /** What the connection begins with. Default: the preface and empty settings. */
  readonly greeting?: Uint8Array;
  /** The outcome, as `outcomeOf` describes it. */
  readonly nginx: string;
}

interface Alike {
  readonly gw?: never;
  readonly because?: never;
}

interface Different {
  /** The outcome of gw, several where versions of Node.js differ, and why it is another one. */
  readonly gw: string | readonly string[];
  readonly because: string;
}

/** Sections of RFC 9113 or RFC 7541, and their cases. */
export type Sections = Readonly<Record<string, readonly FramesCase[]>>;

export const GREETING = Buffer.concat([PREFACE, settingsFrame()]);

/** The whole response to a request of `/`. */
export const fine = (stream = 1): string => `${stream}: 200, ${stream}: "fine"`;
export const FINE = fine();

export const until = (outcome: string): Step => ({ until: outcome });

type Field = readonly [string, string];

/** The pseudo-header fields of a request. */
export const PSEUDO: readonly Field[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a.example'],
];

export const WHOLE = END_STREAM | END_HEADERS;

/** The fields of a request of `path`. */
export function requestFields(path: string, method = 'GET'): readonly Field[] {
  return PSEUDO.map(([name, value]) =>
    name === ':path' ? [name, path] : name === ':method' ? [name, method] : [name, value],
  );
}

/** A HEADERS frame of fields. */
export function headers(stream: number, fields: readonly Field[], flags = WHOLE): Buffer {
  return frame(FRAME.headers, { stream, flags, payload: fieldBlock(fields) });
}

/** A request whose body follows; it is passed to an upstream that responds `fine` when it has it. */
export function post(stream: number, ...more: readonly Field[]): Buffer {
  return headers(stream, [...requestFields('/post', 'POST'), ...more], END_HEADERS);
}

/** A request without a response. */
export const waiting = (stream: number, flags = WHOLE): Buffer =>
  headers(stream, requestFields('/wait'), flags);

export function data(stream: number, text: string | Uint8Array, flags = END_STREAM): Buffer {
  return frame(FRAME.data, { stream, flags, payload: Buffer.from(text as string) });
}

/** A request of `/`. */
export const get = (stream: number): Buffer => headers(stream, PSEUDO);

/** A HEADERS frame of bytes. */
export const head = (stream: number, flags: number, payload: Uint8Array): Buffer =>
  frame(FRAME.headers, { stream, flags, payload });

/** A CONTINUATION frame with one field. */
export const continuation = (stream: number, name: string, flags = END_HEADERS): Buffer =>
  frame(FRAME.continuation, { stream, flags, payload: fieldBlock([[name, '1']]) });

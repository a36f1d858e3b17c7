import { randomDigits } from '../../http/index.ts';

/** What a client says of the trace that its request belongs to. Ids are lower-case hexadecimal digits. */
export interface ClientTrace {
  readonly traceId: string;
  readonly parentId: string;
  readonly parentSampled: boolean;
  /** The `tracestate`, unchanged; '' without one. */
  readonly state: string;
}

/** That of a request that continues no trace. */
export const NO_CLIENT_TRACE: ClientTrace = { traceId: '', parentId: '', parentSampled: false, state: '' };

const SHAPE = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?=$|-)/;
const ZEROS = /^0+$/;
/** Length of a `traceparent` of version 00, the only one whose end is known. */
const LENGTH = 55;
/** Longest `tracestate` that is passed on; W3C asks for this much at least. */
const MOST_STATE = 512;

/**
 * Reads a `traceparent` (W3C Trace Context, 3.2). Of a later version, the fields that this one has count. Returns
 * `undefined` for anything else: the request then begins a trace of its own.
 */
export function parseTraceparent(text: string): Omit<ClientTrace, 'state'> | undefined {
  const [, version, traceId = '', parentId = '', flags = ''] = SHAPE.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && text.length !== LENGTH))
    return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  return { traceId, parentId, parentSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/**
 * Reads the trace of a client from request headers (name, value …, names in lower case). Two `traceparent` lines are none.
 * A `tracestate` counts only beside a good `traceparent`; several lines are one list.
 */
export function readClientTrace(headers: readonly string[]): ClientTrace {
  let parent: string | undefined;
  let state = '';
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1] as string;
    if (headers[index] === 'traceparent') {
      if (parent !== undefined) return NO_CLIENT_TRACE;
      parent = value;
    } else if (headers[index] === 'tracestate') state = state === '' ? value : `${state},${value}`;
  }
  const read = parent === undefined ? undefined : parseTraceparent(parent);
  if (!read) return NO_CLIENT_TRACE;
  return {
    ...read,
    state: state.length <= MOST_STATE && Buffer.byteLength(state) <= MOST_STATE ? state : '',
  };
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const NO_TRACE = '0'.repeat(TRACE_DIGITS);
const NO_SPAN = '0'.repeat(SPAN_DIGITS);

/** Makes the id of a trace: 32 digits. */
export function newTraceId(): string {
  const id = randomDigits(TRACE_DIGITS);
  // An id of zeros means that there is none.
  return id === NO_TRACE ? newTraceId() : id;
}

/** Makes the id of a span: 16 digits. */
export function newSpanId(): string {
  const id = randomDigits(SPAN_DIGITS);
  return id === NO_SPAN ? newSpanId() : id;
}

/** The status of a call: its code (0 means success) and message. */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
  /** The same call may succeed later. */
  readonly isTransient: boolean;
  /** When, if the server has said so. */
  readonly retryAfterMs?: number | undefined;
}

const PREFIX_BYTES = 5;

/** Returns a message with the prefix that gRPC asks for: whether it is compressed, and its length. */
export function framed(message: Uint8Array, isCompressed: boolean): Uint8Array {
  const body = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  body[0] = isCompressed ? 1 : 0;
  body.writeUInt32BE(message.length, 1);
  body.set(message, PREFIX_BYTES);
  return body;
}

/** Returns the message of a response; an empty one if it is compressed, which gw has not asked for, or incomplete. */
export function messageIn(body: Buffer): Uint8Array {
  if (body.length < PREFIX_BYTES || body[0] !== 0) return new Uint8Array(0);
  const end = PREFIX_BYTES + body.readUInt32BE(1);
  return end > body.length ? new Uint8Array(0) : body.subarray(PREFIX_BYTES, end);
}

/**
 * The codes after which the same call may succeed later (OTLP specification, "Failures"): cancelled, deadline exceeded,
 * aborted, out of range, unavailable, data loss.
 */
const TRANSIENT: ReadonlySet<number> = new Set([1, 4, 10, 11, 14, 15]);
const RESOURCE_EXHAUSTED = 8;

/** Reads the status of a call, which is in the trailers, or in the headers if there is no message. */
export function grpcStatusOf(
  headers: readonly string[],
  trailers: readonly string[],
): GrpcStatus | undefined {
  const fields = [...trailers, ...headers];
  const code = fieldOf(fields, 'grpc-status');
  if (code === undefined || !/^\d{1,3}$/.test(code)) return undefined;
  const number = Number(code);
  const retryAfterMs = retryDelayOf(fieldOf(fields, 'grpc-status-details-bin') ?? '');
  return {
    code: number,
    message: decoded(fieldOf(fields, 'grpc-message') ?? ''),
    // A server that is overloaded says when it can recover; without that, its quota is used up.
    isTransient: TRANSIENT.has(number) || (number === RESOURCE_EXHAUSTED && retryAfterMs !== undefined),
    retryAfterMs,
  };
}

function fieldOf(fields: readonly string[], name: string): string | undefined {
  const at = fields.findIndex((field, index) => index % 2 === 0 && field.toLowerCase() === name);
  return at < 0 ? undefined : fields[at + 1];
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

const RETRY_INFO = Buffer.from('type.googleapis.com/google.rpc.RetryInfo');
const DELAY = 1;
const SECONDS = 1;
const VALUE = 2;

/**
 * Finds the delay of a `google.rpc.RetryInfo` among the details of a status: after its type comes its value (field 2),
 * in that the delay (field 1), in that the seconds (field 1). Milliseconds; fractions of a second are rounded up.
 */
function retryDelayOf(base64: string): number | undefined {
  const details = Buffer.from(base64, 'base64');
  const at = details.indexOf(RETRY_INFO);
  if (at < 0) return undefined;
  const value = innerOf(details.subarray(at + RETRY_INFO.length), VALUE);
  const delay = value && innerOf(value, DELAY);
  if (!delay) return undefined;
  if (delay.length === 0 || delay[0] !== SECONDS << 3) return 1_000;
  const seconds = varintAt(delay, 1);
  return seconds === undefined ? undefined : (seconds + (delay.length > 2 ? 1 : 0)) * 1_000;
}

/** Returns the bytes of a field with a length, if the message begins with it. */
function innerOf(message: Buffer, field: number): Buffer | undefined {
  if (message[0] !== ((field << 3) | 2)) return undefined;
  const length = message[1];
  // None of these has 128 bytes, so that its length is one byte.
  return length === undefined || length > 127 || length + 2 > message.length
    ? undefined
    : message.subarray(2, 2 + length);
}

/** Reads a number of up to three bytes: longer delays are not waited for anyway. */
function varintAt(bytes: Buffer, at: number): number | undefined {
  let number = 0;
  for (let index = 0; index < 3; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    number |= (byte & 0x7f) << (7 * index);
    if (byte < 0x80) return number;
  }
  return undefined;
}

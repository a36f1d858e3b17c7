import { type Answer, decode, encode, type Packet, RECURSION_DESIRED, type SrvData } from 'dns-packet';

/** A question to a name server. */
export interface Question {
  /** In lower case, without a dot at its end. */
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'SRV' | 'TXT';
}

/** The response of a name server. */
export interface DnsResponse {
  /** The code of the response (RFC 1035, 4.1.1), or `TIMED_OUT`. */
  readonly code: number;
  readonly records: readonly DnsRecord[];
}

/** A record of a response, of a type that a resolver needs. */
export type DnsRecord = {
  /** In the form of `Question.name`; '' if the owner is no such name. */
  readonly owner: string;
  readonly ttlSeconds: number;
} & (
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | {
      readonly type: 'CNAME' | 'DNAME';
      /** In the form of `Question.name`; `undefined`: no such name. */
      readonly target: string | undefined;
    }
  | ({ readonly type: 'SRV' } & ServiceData)
  | {
      readonly type: 'TXT';
      /** Its strings, put together. */
      readonly text: string;
    }
);

/** The content of an SRV record (RFC 2782). */
export interface ServiceData {
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  /** In the form of `Question.name`; `undefined`: no such name, as where the service is not offered. */
  readonly target: string | undefined;
}

export const NO_ERROR = 0;
export const NOT_FOUND = 3;
const REFUSED = 5;
/** No response in time. nginx uses the number of the system's error. */
export const TIMED_OUT = 110;

const HEADER_BYTES = 12;
const RESPONSE_BIT = 0x8000;
const OPCODE_BITS = 0x7800;
const TRUNCATED_BIT = 0x0200;
const CODE_BITS = 0x000f;

/** RFC 2181, 8: a time to live has 31 bits; a longer one counts as 0. */
const MAX_TTL_SECONDS = 0x7fff_ffff;

/**
 * A name of labels of at most 63 characters, at most 253 in all (RFC 1035, 2.3.4). Anything else is not asked for, nor
 * followed.
 */
const NAME = /^(?=.{1,253}$)[\x21-\x2d\x2f-\x7e]{1,63}(?:\.[\x21-\x2d\x2f-\x7e]{1,63})*$/;

/** Returns a name in the form of `Question.name`; `undefined` if it cannot be asked for. */
export function questionName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  return NAME.test(name) ? name : undefined;
}

/** Returns the bytes of a query. */
export function encodeQuery(id: number, { name, type }: Question): Buffer {
  return encode({ type: 'query', id, flags: RECURSION_DESIRED, questions: [{ name, type }] });
}

/** Returns the id of a message; `undefined` if it is too short to be one. */
export function messageId(message: Buffer): number | undefined {
  return message.length < HEADER_BYTES ? undefined : message.readUInt16BE(0);
}

/**
 * Reads the response to a query. `truncated`: it has to be asked for over TCP. `undefined`: it is malformed, or a
 * response to something else; nginx ignores codes above 5, too.
 */
export function readResponse(
  message: Buffer,
  query: { readonly id: number; readonly question: Question },
): DnsResponse | 'truncated' | undefined {
  if (messageId(message) !== query.id) return undefined;
  const flags = message.readUInt16BE(2);
  const code = flags & CODE_BITS;
  if (!(flags & RESPONSE_BIT) || flags & OPCODE_BITS || code > REFUSED) return undefined;
  if (!isAbout(sectionsOf(message, 'question'), query.question)) return undefined;
  if (flags & TRUNCATED_BIT) return 'truncated';
  if (code !== NO_ERROR) return { code, records: [] };
  const answers = sectionsOf(message, 'answers')?.answers;
  return answers && { code, records: answers.flatMap(recordOf) };
}

/** Decodes the sections up to this one; those behind it are never needed. */
function sectionsOf(message: Buffer, last: 'question' | 'answers'): Packet | undefined {
  const copy = Buffer.from(message);
  copy.fill(0, last === 'question' ? 6 : 8, HEADER_BYTES);
  try {
    const packet = decode(copy);
    // An address may have been read from behind the end.
    return decode.bytes <= copy.length ? packet : undefined;
  } catch {
    return undefined;
  }
}

function isAbout(packet: Packet | undefined, { name, type }: Question): boolean {
  const [question, ...others] = packet?.questions ?? [];
  return (
    others.length === 0 &&
    question?.type === type &&
    question.class === 'IN' &&
    questionName(question.name) === name
  );
}

function recordOf(answer: Answer): DnsRecord | [] {
  if (answer.type === 'OPT' || answer.class !== 'IN') return [];
  const { ttl = 0 } = answer;
  const owner = questionName(answer.name) ?? '';
  const head = { owner, ttlSeconds: ttl > MAX_TTL_SECONDS ? 0 : ttl };
  const { type } = answer;
  if (type === 'A' || type === 'AAAA') return { ...head, type, address: answer.data };
  if (type === 'CNAME' || type === 'DNAME') return { ...head, type, target: questionName(answer.data) };
  if (type === 'SRV') return { ...head, type, ...serviceOf(answer.data) };
  if (type === 'TXT') return { ...head, type, text: [answer.data].flat().join('') };
  return [];
}

function serviceOf({ priority = 0, weight = 0, port, target }: SrvData): ServiceData {
  return { priority, weight, port, target: questionName(target) };
}

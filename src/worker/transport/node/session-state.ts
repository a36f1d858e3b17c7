import { createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';

/** The state of a client in a session (OpenSSL, i2d_SSL_SESSION). */
interface SessionState {
  /** In hexadecimal. */
  readonly id: string;
  /** The client's own certificate, in DER; its chain is not kept. */
  readonly certificate: Buffer | undefined;
  /** True if OpenSSL verified the certificate. OpenSSL does not know `ssl_verify_depth`. */
  readonly isVerified: boolean;
  /** The curve of the key exchange by IANA's number; 0 if there was none. */
  readonly curve: number;
}

/** Fields of `SSL_SESSION` before those with tags: version, TLS version, cipher, id, master key. */
const ID_FIELD = 3;
const SEQUENCE = 0x30;
const PEER_TAG = 0xa3;
const VERIFY_RESULT_TAG = 0xa5;
const CURVE_TAG = 0xb3;

/** Reads a session in DER; `undefined` if it is not a session. */
export function readSession(session: Buffer): SessionState | undefined {
  const [sequence] = elementsOf(session);
  if (sequence?.tag !== SEQUENCE) return undefined;
  const fields = elementsOf(sequence.content);
  const contentOf = (tag: number): Buffer | undefined => fields.find((field) => field.tag === tag)?.content;
  const id = fields[ID_FIELD]?.content;
  const [curve] = elementsOf(contentOf(CURVE_TAG) ?? NOTHING);
  return (
    id && {
      id: id.toString('hex'),
      certificate: contentOf(PEER_TAG),
      // The field is absent for X509_V_OK.
      isVerified: contentOf(VERIFY_RESULT_TAG) === undefined,
      curve: curve ? Number(`0x${curve.content.toString('hex')}`) : 0,
    }
  );
}

const NOTHING = Buffer.alloc(0);

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** Splits DER into its elements. A truncated element is left out. */
function elementsOf(der: Buffer): readonly Element[] {
  const elements: Element[] = [];
  for (let at = 0; at + 2 <= der.length;) {
    const first = der[at + 1] as number;
    const sizeBytes = first < 0x80 ? 0 : first & 0x7f;
    if (sizeBytes > 4 || at + 2 + sizeBytes > der.length) break;
    const begin = at + 2 + sizeBytes;
    const end = begin + (sizeBytes === 0 ? first & 0x7f : der.readUIntBE(at + 2, sizeBytes));
    if (end > der.length) break;
    elements.push({ tag: der[at] as number, content: der.subarray(begin, end) });
    at = end;
  }
  return elements;
}

const NAME_BYTES = 16;
const IV_BYTES = 16;
const MAC_BYTES = 32;

/**
 * Decrypts a ticket of this server (RFC 5077, 4; the ciphers are those of node:tls). `keys` are its ticket keys: name,
 * HMAC key and AES key. Returns `undefined` if the ticket was encrypted with other keys.
 */
export function openTicket(ticket: Buffer, keys: Buffer): Buffer | undefined {
  const end = ticket.length - MAC_BYTES;
  if (end <= NAME_BYTES + IV_BYTES) return undefined;
  if (!ticket.subarray(0, NAME_BYTES).equals(keys.subarray(0, NAME_BYTES))) return undefined;
  const mac = createHmac('sha256', keys.subarray(16, 32)).update(ticket.subarray(0, end)).digest();
  if (!timingSafeEqual(mac, ticket.subarray(end))) return undefined;
  const cipher = createDecipheriv('aes-128-cbc', keys.subarray(32, 48), ticket.subarray(NAME_BYTES, 32));
  return Buffer.concat([cipher.update(ticket.subarray(NAME_BYTES + IV_BYTES, end)), cipher.final()]);
}

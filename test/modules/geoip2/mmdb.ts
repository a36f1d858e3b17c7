/** A number with its type; plain ones are unsigned integers of 32 bits. */
type TypedNumber = { readonly type: 'double' | 'uint16' | 'uint64'; readonly number: number };

/** A value of a MaxMind database. */
export type MmdbValue =
  string | number | boolean | TypedNumber | readonly MmdbValue[] | { readonly [name: string]: MmdbValue };

export const double = (number: number): TypedNumber => ({ type: 'double', number });

/** Writes a value in the format of the data section (MaxMind DB File Format, version 2.0). */
function encode(value: MmdbValue): Buffer {
  if (typeof value === 'string')
    return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'boolean') return control(14, value ? 1 : 0);
  if (typeof value === 'number') return scalar(6, 4, (bytes) => bytes.writeUInt32BE(value));
  if (isList(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)]);
  if (isTyped(value)) return encodeTyped(value);
  const entries = Object.entries(value);
  const fields = entries.flatMap(([key, item]) => [encode(key), encode(item)]);
  return Buffer.concat([control(7, entries.length), ...fields]);
}

function isList(value: object): value is readonly MmdbValue[] {
  return Array.isArray(value);
}

function isTyped(value: object): value is TypedNumber {
  return 'number' in value;
}

function encodeTyped({ type, number }: TypedNumber): Buffer {
  if (type === 'double') return scalar(3, 8, (bytes) => bytes.writeDoubleBE(number));
  if (type === 'uint16') return scalar(5, 2, (bytes) => bytes.writeUInt16BE(number));
  return scalar(9, 8, (bytes) => bytes.writeBigUInt64BE(BigInt(number)));
}

function scalar(type: number, size: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(size);
  write(bytes);
  return Buffer.concat([control(type, size), bytes]);
}

/** Encodes a control byte. Types above 7 are extended: their number is in a separate byte. */
function control(type: number, size: number): Buffer {
  const [small, more] = size < 29 ? [size, []] : [29, [size - 29]];
  return type > 7 ? Buffer.from([small, type - 7, ...more]) : Buffer.from([(type << 5) | small, ...more]);
}

const uint16 = (number: number): TypedNumber => ({ type: 'uint16', number });

const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
const SEPARATOR = Buffer.alloc(16);

/** Writes a database of IPv4 networks such as `10.0.0.0/8`, with their records. */
export function mmdb(networks: Readonly<Record<string, MmdbValue>>, buildEpoch = 1_700_000_000): Buffer {
  const nodes: (number | undefined)[][] = [[undefined, undefined]];
  const data: Buffer[] = [];
  const places: number[] = [];
  let dataBytes = 0;
  for (const [network, record] of Object.entries(networks)) {
    const bits = bitsOf(network);
    let node = 0;
    for (const bit of bits.slice(0, -1)) {
      const row = nodes[node] as (number | undefined)[];
      row[bit] ??= nodes.push([undefined, undefined]) - 1;
      node = row[bit];
    }
    // Leaves are negative until the number of nodes is known.
    (nodes[node] as (number | undefined)[])[bits.at(-1) as number] = -1 - places.length;
    const encoded = encode(record);
    places.push(dataBytes);
    data.push(encoded);
    dataBytes += encoded.length;
  }
  const tree = nodes.flat().map((child) => {
    const bytes = Buffer.alloc(4);
    const pointer = (leaf: number): number => nodes.length + 16 + (places[-1 - leaf] as number);
    bytes.writeUInt32BE(child === undefined ? nodes.length : child < 0 ? pointer(child) : child);
    return bytes;
  });
  const metadata = encode({
    node_count: nodes.length,
    record_size: uint16(32),
    ip_version: uint16(4),
    database_type: 'Test',
    languages: ['en'],
    binary_format_major_version: uint16(2),
    binary_format_minor_version: uint16(0),
    build_epoch: { type: 'uint64', number: buildEpoch },
    description: { en: 'networks of a test' },
  });
  return Buffer.concat([...tree, SEPARATOR, ...data, MARKER, metadata]);
}

function bitsOf(network: string): number[] {
  const [address = '', length] = network.split('/');
  const bits = address.split('.').map((byte) => Number(byte).toString(2).padStart(8, '0'));
  return [...bits.join('')].slice(0, Number(length)).map(Number);
}

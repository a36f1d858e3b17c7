import type { ProxyProtocolFacts } from '../../../http/index.ts';

/** What the first bytes of a connection say: the facts and their length, that more is needed, or that they are no such header. */
export type ProxyPrefix =
  { readonly facts: ProxyProtocolFacts; readonly bytes: number } | 'incomplete' | 'broken';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** The longest line of version 1, with its end. */
const LONGEST_LINE = 107;
/** Nobody sends more type-length-value fields than this. */
const LONGEST_BINARY = 4096;
const UNKNOWN: ProxyProtocolFacts = { address: '', port: 0, serverAddress: '', serverPort: 0, tlvs: [] };

/** Reads the header of the PROXY protocol, version 1 or 2 (haproxy.org/download/2.9/doc/proxy-protocol.txt). */
export function readProxyPrefix(bytes: Buffer): ProxyPrefix {
  const known = Math.min(bytes.length, SIGNATURE.length);
  if (SIGNATURE.subarray(0, known).equals(bytes.subarray(0, known))) {
    return known < SIGNATURE.length ? 'incomplete' : readBinary(bytes);
  }
  const text = bytes.toString('latin1', 0, LONGEST_LINE);
  if (!text.startsWith('PROXY '.slice(0, text.length))) return 'broken';
  const end = text.indexOf('\r\n');
  if (end < 0) return text.length < LONGEST_LINE ? 'incomplete' : 'broken';
  const facts = readLine(text.slice(0, end));
  return facts ? { facts, bytes: end + 2 } : 'broken';
}

function readLine(line: string): ProxyProtocolFacts | undefined {
  if (line.startsWith('PROXY UNKNOWN')) return UNKNOWN;
  const [, address = '', serverAddress = '', port = '', serverPort = ''] =
    /^PROXY (?:TCP4 (?=[\d.]+ [\d.]+ )|TCP6 (?=[\da-f:.]+ [\da-f:.]+ ))(\S+) (\S+) (\d{1,5}) (\d{1,5})$/i.exec(
      line,
    ) ?? [];
  const ports = [Number(port), Number(serverPort)] as const;
  if (address === '' || ports.some((number) => number > 65_535)) return undefined;
  return { address, port: ports[0], serverAddress, serverPort: ports[1], tlvs: [] };
}

function readBinary(bytes: Buffer): ProxyPrefix {
  if (bytes.length < 16) return 'incomplete';
  const command = bytes.readUInt8(12);
  const family = bytes.readUInt8(13) >> 4;
  const end = 16 + bytes.readUInt16BE(14);
  if (command >> 4 !== 2 || (command & 15) > 1 || end > LONGEST_BINARY) return 'broken';
  if (bytes.length < end) return 'incomplete';
  const body = bytes.subarray(16, end);
  // LOCAL: the proxy itself asks, for example for our health. Other families have no addresses that we could name.
  if ((command & 15) === 0 || (family !== 1 && family !== 2)) return { facts: UNKNOWN, bytes: end };
  const size = family === 1 ? 4 : 16;
  if (body.length < 2 * size + 4) return 'broken';
  const tlvs = readFields(body.subarray(2 * size + 4));
  if (!tlvs) return 'broken';
  const facts = {
    address: addressOf(body.subarray(0, size)),
    serverAddress: addressOf(body.subarray(size, 2 * size)),
    port: body.readUInt16BE(2 * size),
    serverPort: body.readUInt16BE(2 * size + 2),
    tlvs,
  };
  return { facts, bytes: end };
}

function readFields(bytes: Buffer): ProxyProtocolFacts['tlvs'] | undefined {
  const fields: { type: number; value: string }[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = at + 3 + (at + 3 <= bytes.length ? bytes.readUInt16BE(at + 1) : 0);
    if (end > bytes.length || at + 3 > bytes.length) return undefined;
    fields.push({ type: bytes.readUInt8(at), value: bytes.toString('latin1', at + 3, end) });
    at = end;
  }
  return fields;
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import type { Owner } from './owner.ts';

/** The records of a name. */
export interface DnsRecords {
  /** IPv4 and IPv6 addresses. */
  readonly addresses?: readonly string[];
  readonly services?: readonly { priority: number; weight: number; port: number; target: string }[];
  readonly ttl?: number;
  /** `silent`: never answers. A number: answers with this code (2 SERVFAIL, 5 REFUSED). */
  readonly fault?: 'silent' | number;
  /** Questions of this type get no answer. */
  readonly silentAbout?: 'A' | 'AAAA';
}

export interface DnsServer {
  readonly port: number;
  /** Names without an entry do not exist (3 NXDOMAIN). */
  readonly names: Map<string, DnsRecords>;
  /** `A name`, `AAAA name`, `SRV name`: every question so far. */
  readonly asked: string[];
}

const TYPES: Readonly<Record<number, string>> = { 1: 'A', 28: 'AAAA', 33: 'SRV' };
const NXDOMAIN = 3;

/** A name server on a free UDP port with the records of a test; it can also stay silent. */
export async function startDnsServer(
  t: Owner,
  names: Readonly<Record<string, DnsRecords>>,
): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const server = { names: new Map(Object.entries(names)), asked: [] as string[] };
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query);
    server.asked.push(`${TYPES[type] ?? type} ${name}`);
    const records = server.names.get(name);
    const isSilent = records?.fault === 'silent' || (records?.silentAbout ?? '') === TYPES[type];
    if (!isSilent) socket.send(answerTo(query.subarray(0, end), type, records), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.onTestFinished(async () => {
    socket.close();
    await once(socket, 'close');
  });
  return { port: socket.address().port, ...server };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] as number; length > 0; length = query[at] as number) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Returns header and question of the query, then the records, each with a pointer to the name in the question. */
function answerTo(question: Buffer, type: number, records: DnsRecords | undefined): Buffer {
  const { addresses = [], services = [], ttl = 60, fault } = records ?? { fault: NXDOMAIN };
  const ofType = addresses.filter((address) => isIPv4(address) === (type === 1));
  const contents =
    type === 33 ? services.map(serviceBytes) : type === 1 || type === 28 ? ofType.map(addressBytes) : [];
  const found = typeof fault === 'number' ? [] : contents;
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180 | (typeof fault === 'number' ? fault : 0), 2);
  head.writeUInt16BE(found.length, 6);
  head.writeUInt32BE(0, 8);
  const answers = found.map((content) => {
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(ttl, 6);
    record.writeUInt16BE(content.length, 10);
    return Buffer.concat([record, content]);
  });
  return Buffer.concat([head, ...answers]);
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [left = '', right = ''] = address.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => parseInt(group, 16));
  const [head, tail] = [groups(left), groups(right)];
  const all = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

function serviceBytes({
  priority,
  weight,
  port,
  target,
}: NonNullable<DnsRecords['services']>[number]): Buffer {
  const numbers = Buffer.alloc(6);
  numbers.writeUInt16BE(priority, 0);
  numbers.writeUInt16BE(weight, 2);
  numbers.writeUInt16BE(port, 4);
  const labels = target
    .split('.')
    .map((label) => Buffer.from(String.fromCharCode(label.length) + label, 'latin1'));
  return Buffer.concat([numbers, ...labels, Buffer.alloc(1)]);
}

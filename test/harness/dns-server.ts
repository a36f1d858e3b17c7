import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv4 } from 'node:net';
import type { Owner } from './owner.ts';

/** The records of a name. */
export interface DnsRecords {
  /** IPv4 and IPv6 addresses. */
  readonly addresses?: readonly string[];
  readonly services?: readonly { priority: number; weight: number; port: number; target: string }[];
  /** TXT records; each of up to 255 characters is one string. */
  readonly texts?: readonly string[];
  /** The name is an alias (CNAME). Addresses beside it are those of the alias. */
  readonly alias?: string;
  /** Further records, before the others: CNAME, DNAME or A, each with its owner. */
  readonly others?: readonly { owner: string; type: 'A' | 'CNAME' | 'DNAME'; data: string }[];
  readonly ttl?: number;
  /** `silent`: never answers. A number: answers with this code (2 SERVFAIL, 5 REFUSED). */
  readonly fault?: 'silent' | number;
  /** The codes of the answers to questions of one type. */
  readonly faults?: Readonly<Partial<Record<QuestionType, number>>>;
  /** Questions of this type get no answer. */
  readonly silentAbout?: 'A' | 'AAAA';
  /** Over UDP, the answer has no records and says that it is truncated. */
  readonly truncated?: boolean;
  /** Connections that ask for the name are closed. */
  readonly closesTcp?: boolean;
  /** Messages that are sent before the answer, made from it. */
  readonly forged?: (answer: Buffer) => readonly Buffer[];
}

type QuestionType = 'A' | 'AAAA' | 'SRV' | 'TXT';

export interface DnsServer {
  readonly port: number;
  /** Names without an entry do not exist (3 NXDOMAIN). */
  readonly names: Map<string, DnsRecords>;
  /** `A name`, `TXT name` and so on: every question so far. */
  readonly asked: string[];
  /** The transport, source port and id of every question so far: `udp 40000 1`. */
  readonly sources: string[];
}

const TYPES: Readonly<Record<number, string>> = { 1: 'A', 28: 'AAAA', 33: 'SRV', 16: 'TXT' };
const CODES = { A: 1, CNAME: 5, DNAME: 39 } as const;
const NXDOMAIN = 3;
const TRUNCATED_BIT = 0x0200;

/** A name server on a free port, over UDP and TCP, with the records of a test; it can also stay silent. */
export async function startDnsServer(
  t: Owner,
  names: Readonly<Record<string, DnsRecords>>,
): Promise<DnsServer> {
  const server = { names: new Map(Object.entries(names)), asked: [] as string[], sources: [] as string[] };
  const answersTo = (query: Buffer, via: 'udp' | 'tcp', port: number): readonly Buffer[] | 'close' => {
    const { name, type, end } = readQuestion(query);
    server.asked.push(`${TYPES[type] ?? type} ${name}`);
    server.sources.push(`${via} ${port} ${query.readUInt16BE(0)}`);
    const records = server.names.get(name);
    if (records?.fault === 'silent' || (records?.silentAbout ?? '') === TYPES[type]) return [];
    const answer = answerTo(query.subarray(0, end), type, records);
    if (via === 'tcp' && records?.closesTcp) return 'close';
    if (via === 'udp' && records?.truncated) return [truncated(answer, end)];
    return [...(records?.forged?.(answer) ?? []), answer];
  };
  const port = await listenTcp(t, (query, from) => answersTo(query, 'tcp', from));
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const answers = answersTo(query, 'udp', from.port);
    if (answers !== 'close') for (const answer of answers) socket.send(answer, from.port, from.address);
  });
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  t.onTestFinished(async () => {
    socket.close();
    await once(socket, 'close');
  });
  return { port, ...server };
}

/** Answers over TCP on a free port, which it returns. */
async function listenTcp(
  t: Owner,
  answersTo: (query: Buffer, from: number) => readonly Buffer[] | 'close',
): Promise<number> {
  const server = createServer((connection) => {
    connection.on('error', () => undefined);
    connection.on('data', (data) => {
      const answers = answersTo(data.subarray(2), connection.remotePort ?? 0);
      if (answers === 'close') connection.destroy();
      else for (const answer of answers) connection.write(Buffer.concat([numbers(answer.length), answer]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => {
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** The answer without its records, and with the bit that says so. */
function truncated(answer: Buffer, end: number): Buffer {
  const head = Buffer.from(answer.subarray(0, end));
  head.writeUInt16BE(head.readUInt16BE(2) | TRUNCATED_BIT, 2);
  head.writeUInt16BE(0, 6);
  return head;
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

/** A pointer to the name in the question. */
const ASKED = numbers(0xc00c);

/** Returns header and question of the query, then the records. */
function answerTo(question: Buffer, type: number, records: DnsRecords | undefined): Buffer {
  const { ttl = 60, fault, faults } = records ?? { fault: NXDOMAIN };
  const code = faults?.[TYPES[type] as QuestionType] ?? (typeof fault === 'number' ? fault : 0);
  const found = code === 0 && records ? recordsFor(type, records, ttl) : [];
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(found.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...found]);
}

function recordsFor(type: number, records: DnsRecords, ttl: number): Buffer[] {
  const { addresses = [], services = [], texts = [], alias, others = [] } = records;
  const owner = alias === undefined ? ASKED : nameBytes(alias);
  const ofType = type === 1 || type === 28 ? addresses.filter((ip) => isIPv4(ip) === (type === 1)) : [];
  return [
    ...others.map(({ owner: name, type: kind, data }) =>
      record(nameBytes(name), CODES[kind], {
        ttl,
        content: kind === 'A' ? addressBytes(data) : nameBytes(data),
      }),
    ),
    ...(alias === undefined ? [] : [record(ASKED, CODES.CNAME, { ttl, content: nameBytes(alias) })]),
    ...ofType.map((ip) => record(owner, type, { ttl, content: addressBytes(ip) })),
    ...(type === 33
      ? services.map((service) => record(owner, type, { ttl, content: serviceBytes(service) }))
      : []),
    ...(type === 16 ? texts.map((text) => record(owner, type, { ttl, content: textBytes(text) })) : []),
  ];
}

function record(owner: Buffer, type: number, { ttl, content }: { ttl: number; content: Buffer }): Buffer {
  return Buffer.concat([owner, numbers(type, 1, ttl >>> 16, ttl & 0xffff, content.length), content]);
}

/** The strings of a TXT record, each after its length. */
function textBytes(text: string): Buffer {
  const strings = text.match(/[^]{1,255}/g) ?? [''];
  return Buffer.concat(strings.flatMap((one) => [Buffer.from([one.length]), Buffer.from(one, 'latin1')]));
}

/** Numbers of 16 bits. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  values.forEach((value, index) => bytes.writeUInt16BE(value, 2 * index));
  return bytes;
}

function nameBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.from(String.fromCharCode(label.length) + label, 'latin1'));
  return Buffer.concat([...labels, Buffer.alloc(1)]);
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
  return Buffer.concat([numbers(priority, weight, port), nameBytes(target)]);
}

import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import type { ReadScope } from '../../config/index.ts';
import type { BodyTransform } from '../../http/index.ts';

/** One `charset_map from to { … }`: bytes of `from`, and their bytes in `to`. */
export interface CharsetMap {
  readonly from: string;
  readonly to: string;
  /** By byte of `from`. */
  readonly bytes: Readonly<Record<number, readonly number[]>>;
}

/** Characters of a map are in the basic plane: three bytes of UTF-8 at most. */
const MOST_UTF8_BYTES = 3;

/** Reads the block; invalid lines are reported and left out. */
export function readCharsetMap(
  node: DirectiveNode,
  { report }: ReadScope,
): readonly CharsetMap[] | undefined {
  const [from, to] = node.args;
  if (!from || !to || node.args.length > 2) {
    const message = 'invalid number of arguments in "charset_map" directive';
    report.emerg(message, node.name.span, { rule: 'wrong-arity' });
    return undefined;
  }
  if (from.value.toLowerCase() === to.value.toLowerCase()) {
    report.emerg(`"charset_map" between the same charsets "${from.value}" and "${to.value}"`, node.name.span);
    return undefined;
  }
  const mostBytes = to.value.toLowerCase() === 'utf-8' ? MOST_UTF8_BYTES : 1;
  const bytes: Record<number, readonly number[]> = {};
  for (const line of node.block ?? []) {
    const [target, ...others] = line.args;
    if (!target || others.length > 0) {
      report.emerg('invalid parameters number', line.name.span, { rule: 'wrong-arity' });
      continue;
    }
    const [source] = hexBytes(line.name, 1) ?? [];
    const targets = hexBytes(target, mostBytes);
    const wrong = source === undefined ? line.name : target;
    if (source === undefined || !targets) report.emerg(`invalid value "${wrong.value}"`, wrong.span);
    else bytes[source] = targets;
  }
  return [{ from: from.value, to: to.value, bytes }];
}

function hexBytes({ value }: Pick<Word, 'value'>, most: number): readonly number[] | undefined {
  const padded = value.length === 1 ? `0${value}` : value;
  if (!/^(?:[\da-f]{2})+$/i.test(padded) || padded.length > 2 * most) return undefined;
  const bytes = [...Buffer.from(padded, 'hex')];
  return most === 1 || isOneCharacter(bytes) ? bytes : undefined;
}

function isOneCharacter(bytes: readonly number[]): boolean {
  const text = Buffer.from(bytes).toString('utf8');
  return text.length === 1 && text !== '\ufffd';
}

/** The bytes of a body from `from` up to, but not including, `to`. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** A recoding from one charset to another. */
export interface Recoding {
  /** Creates the transform for one response. With `keepsLength`, the bytes in `kept` are not recoded. */
  open(kept?: readonly Span[]): BodyTransform;
  /** Each byte becomes one byte. */
  readonly keepsLength: boolean;
}

const UNKNOWN = 0x3f;
const ASCII = 0x80;
const UTF8 = 'utf-8';

type Recodings = ReadonlyMap<string, Recoding>;

/** Locations share the maps of their configuration, and therefore the tables. */
const COMPILED = new WeakMap<readonly CharsetMap[], Recodings>();

/** Returns the recodings of some maps, in both directions, by `from to` in lower case. */
export function recodingsOf(maps: readonly CharsetMap[]): Recodings {
  const known = COMPILED.get(maps) ?? compileRecodings(maps);
  COMPILED.set(maps, known);
  return known;
}

function compileRecodings(maps: readonly CharsetMap[]): Recodings {
  const recodings = new Map<string, Recoding>();
  for (const map of maps) {
    const [from, to] = [map.from.toLowerCase(), map.to.toLowerCase()];
    if (to === UTF8) {
      const [wide, narrow] = [utf8Table(map), narrowTable(map)];
      recodings.set(`${from} ${to}`, { open: () => new ToUtf8(wide), keepsLength: false });
      recodings.set(`${to} ${from}`, { open: () => new FromUtf8(narrow), keepsLength: false });
    } else {
      const there = byteTable(
        Object.entries(map.bytes).map(([source, [target]]) => [Number(source), target]),
      );
      const back = byteTable(Object.entries(map.bytes).map(([source, [target]]) => [target, Number(source)]));
      recodings.set(`${from} ${to}`, { open: (kept) => new ByteForByte(there, kept), keepsLength: true });
      recodings.set(`${to} ${from}`, { open: (kept) => new ByteForByte(back, kept), keepsLength: true });
    }
  }
  return recodings;
}

/** Builds a table of bytes. A byte that the map does not contain is `?`; ASCII is unchanged (nginx). */
function byteTable(pairs: readonly (readonly [number | undefined, number | undefined])[]): Uint8Array {
  const table = Uint8Array.from({ length: 256 }, (_, byte) => (byte < ASCII ? byte : UNKNOWN));
  for (const [source, target] of pairs)
    if (source !== undefined && target !== undefined) table[source] = target;
  return table;
}

function utf8Table({ bytes }: CharsetMap): readonly Buffer[] {
  return Array.from({ length: 256 }, (_, byte) =>
    Buffer.from(bytes[byte] ?? [byte < ASCII ? byte : UNKNOWN]),
  );
}

/** Builds a table from characters to bytes. */
function narrowTable({ bytes }: CharsetMap): ReadonlyMap<number, number> {
  const table = new Map<number, number>();
  for (const [source, target] of Object.entries(bytes)) {
    table.set(Buffer.from(target).toString('utf8').charCodeAt(0), Number(source));
  }
  return table;
}

class ByteForByte implements BodyTransform {
  readonly #table: Uint8Array;
  readonly #kept: readonly Span[];
  #at = 0;

  constructor(table: Uint8Array, kept: readonly Span[] = []) {
    this.#table = table;
    this.#kept = kept;
  }

  whole(body: Uint8Array): Uint8Array {
    return this.write(body);
  }

  write(piece: Uint8Array): Uint8Array {
    const recoded = piece.map((byte) => this.#table[byte] ?? UNKNOWN);
    for (const { from, to } of this.#kept) {
      const first = Math.max(from - this.#at, 0);
      const end = Math.min(to - this.#at, piece.length);
      if (first < end) recoded.set(piece.subarray(first, end), first);
    }
    this.#at += piece.length;
    return recoded;
  }

  end(): Uint8Array {
    return new Uint8Array(0);
  }
}

class ToUtf8 implements BodyTransform {
  readonly #table: readonly Buffer[];

  constructor(table: readonly Buffer[]) {
    this.#table = table;
  }

  whole(body: Uint8Array): Uint8Array {
    return this.write(body);
  }

  write(piece: Uint8Array): Uint8Array {
    const out = Buffer.allocUnsafe(3 * piece.length);
    let length = 0;
    for (const byte of piece) {
      for (const part of this.#table[byte] as Buffer) out[length++] = part;
    }
    return out.subarray(0, length);
  }

  end(): Uint8Array {
    return new Uint8Array(0);
  }
}

/** Converts from UTF-8. A character that the charset lacks becomes an HTML entity, malformed UTF-8 a `?` (nginx). */
class FromUtf8 implements BodyTransform {
  readonly #table: ReadonlyMap<number, number>;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  constructor(table: ReadonlyMap<number, number>) {
    this.#table = table;
  }

  whole(body: Uint8Array): Uint8Array {
    return this.#encode(this.#decoder.decode(body));
  }

  write(piece: Uint8Array): Uint8Array {
    return this.#encode(this.#decoder.decode(piece, { stream: true }));
  }

  end(): Uint8Array {
    return this.#encode(this.#decoder.decode());
  }

  #encode(text: string): Uint8Array {
    const bytes = text.replaceAll(NOT_ASCII, (char) => {
      const code = char.codePointAt(0) as number;
      const byte = this.#table.get(code);
      if (byte !== undefined) return String.fromCharCode(byte);
      return code === REPLACEMENT ? '?' : `&#${code};`;
    });
    return Buffer.from(bytes, 'latin1');
  }
}

const NOT_ASCII = /[^\0-\x7f]/gu;
/** The decoder's character for malformed bytes. */
const REPLACEMENT = 0xfffd;

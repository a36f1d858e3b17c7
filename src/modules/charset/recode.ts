import type { BodyTransform } from '../../http/index.ts';
import type { CharsetMap } from './charset-map.ts';

/** Makes the recoding of one answer. */
export type Recoding = () => BodyTransform;

const UNKNOWN = 0x3f;
const ASCII = 0x80;
const UTF8 = 'utf-8';

type Recodings = ReadonlyMap<string, Recoding>;

/** Locations share the maps of their configuration, and so their tables. */
const COMPILED = new WeakMap<readonly CharsetMap[], Recodings>();

/** The recodings of some maps, in both directions, by `from to` in lower case. */
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
      recodings.set(`${from} ${to}`, () => new ToUtf8(wide));
      recodings.set(`${to} ${from}`, () => new FromUtf8(narrow));
    } else {
      const there = byteTable(
        Object.entries(map.bytes).map(([source, [target]]) => [Number(source), target]),
      );
      const back = byteTable(Object.entries(map.bytes).map(([source, [target]]) => [target, Number(source)]));
      recodings.set(`${from} ${to}`, () => new ByteForByte(there));
      recodings.set(`${to} ${from}`, () => new ByteForByte(back));
    }
  }
  return recodings;
}

/** A byte that a map does not name is `?`, ASCII is itself (nginx). */
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

/** By character: its byte. */
function narrowTable({ bytes }: CharsetMap): ReadonlyMap<number, number> {
  const table = new Map<number, number>();
  for (const [source, target] of Object.entries(bytes)) {
    table.set(Buffer.from(target).toString('utf8').charCodeAt(0), Number(source));
  }
  return table;
}

class ByteForByte implements BodyTransform {
  readonly #table: Uint8Array;

  constructor(table: Uint8Array) {
    this.#table = table;
  }

  whole(body: Uint8Array): Uint8Array {
    return this.write(body);
  }

  write(piece: Uint8Array): Uint8Array {
    return piece.map((byte) => this.#table[byte] ?? UNKNOWN);
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

/** What the charset does not have becomes an HTML entity, malformed UTF-8 a `?` (nginx). */
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
/** What the decoder gives for malformed bytes. */
const REPLACEMENT = 0xfffd;

import { hash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { hasLostObject, type WireError } from '../../../postgres/index.ts';
import type { BoundValue } from '../sql/index.ts';

/**
 * Builds messages to the server (PostgreSQL documentation, "Message Formats") in as few writes as possible. Text is
 * kept in strings with one character per byte, which Node writes without an extra buffer.
 */
export class Messages {
  readonly #pieces: (string | Buffer)[] = [];
  #text = '';

  close(name: string): void {
    this.#text += message('C', `S${name}\0`);
  }

  parse(name: string, text: string): void {
    this.#text += message('P', `${name}\0${bytesOf(text)}\0${int16(0)}`);
  }

  /** Binds parameters; results are requested as text. Buffers are sent in binary format. */
  bind(name: string, { fields, formats, sizeBytes }: Fields): void {
    const head = `\0${name}\0${formats}${int16(fields.length)}`;
    this.#text += `B${int32(head.length + 6 + sizeBytes)}${head}`;
    for (const field of fields) {
      this.#text += int32(field === null ? -1 : sizeOf(field));
      if (isBinary(field)) for (const bytes of [field].flat()) this.#add(bytes);
      else if (field !== null) this.#text += field;
    }
    this.#text += int16(0);
  }

  describe(): void {
    this.#text += DESCRIBE;
  }

  execute(): void {
    this.#text += EXECUTE;
  }

  sync(): void {
    this.#text += SYNC;
  }

  sendTo(stream: NodeJS.WritableStream & { cork(): void; uncork(): void }): void {
    if (this.#pieces.length === 0) {
      stream.write(this.#text, 'latin1');
      return;
    }
    stream.cork();
    for (const piece of this.#pieces) {
      if (typeof piece === 'string') stream.write(piece, 'latin1');
      else stream.write(piece);
    }
    stream.write(this.#text, 'latin1');
    stream.uncork();
  }

  #add(bytes: Buffer): void {
    if (bytes.length <= SMALL_BYTES) {
      this.#text += bytes.toString('latin1');
      return;
    }
    this.#pieces.push(this.#text, bytes);
    this.#text = '';
  }
}

/** The values of a Bind message, encoded. */
export interface Fields {
  readonly fields: readonly BoundValue[];
  /** The number of format codes, and the codes. */
  readonly formats: string;
  readonly sizeBytes: number;
}

/** Encodes values to bind. Throws for a value of another type, so that it happens before the batch is written. */
export function fieldsOf(values: readonly BoundValue[]): Fields {
  const fields: BoundValue[] = [];
  let sizeBytes = 0;
  let hasBinary = false;
  for (const value of values) {
    const field = typeof value === 'string' ? bytesOf(value) : value;
    fields.push(field);
    sizeBytes += 4 + sizeOf(field);
    hasBinary ||= isBinary(field);
  }
  return { fields, formats: hasBinary ? formatsOf(fields) : TEXT_FORMATS, sizeBytes };
}

/** All fields are texts. */
const TEXT_FORMATS = int16(0);

function formatsOf(fields: readonly BoundValue[]): string {
  const formats = fields.map((field) => int16(isBinary(field) ? 1 : 0));
  return `${int16(formats.length)}${formats.join('')}`;
}

/** Up to this size, copying bytes is cheaper than an additional write. */
const SMALL_BYTES = 4_096;
/** Describe of the unnamed portal. */
const DESCRIBE = message('D', 'P\0');
/** Execute of the unnamed portal, without a row limit. */
const EXECUTE = message('E', `\0${int32(0)}`);
const SYNC = message('S', '');

function message(type: string, body: string): string {
  return `${type}${int32(body.length + 4)}${body}`;
}

function int32(n: number): string {
  return String.fromCharCode((n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255);
}

function int16(n: number): string {
  return String.fromCharCode((n >>> 8) & 255, n & 255);
}

function sizeOf(field: BoundValue): number {
  if (field === null || typeof field === 'string' || Buffer.isBuffer(field)) return field?.length ?? 0;
  return field.reduce((sum, { length }) => sum + length, 0);
}

/** Encodes a text as UTF-8 with one character per byte. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}

function isBinary(field: BoundValue): field is Buffer | readonly Buffer[] {
  return typeof field === 'object' && field !== null;
}

interface PreparedStatement {
  readonly text: string;
  readonly name: string;
  /** ParseComplete has come. */
  isParsed: boolean;
}

/** The name of a statement, and whether it has to be parsed first. */
export interface UsedName {
  readonly name: string;
  readonly parse: boolean;
}

interface NamesOptions {
  /** Most statements that are kept. */
  readonly statements: number;
  /** Most characters of their texts together. */
  readonly characters: number;
  /** Each batch may run in another session of the server, which knows other statements. */
  readonly isPooled?: boolean;
}

/**
 * The prepared statements of one session, as an LRU cache. A statement counts as prepared only after ParseComplete:
 * after an error the server skips the rest of a batch. Names are digests of the text, the epoch and a random part of
 * the session: a pooler may give the session to others, and whatever has this name there must be this statement.
 */
export class StatementNames {
  readonly #byText: LRUCache<string, PreparedStatement>;
  /** Sent Parse messages, in the order of their ParseComplete; `undefined` marks the end of a batch. */
  readonly #parsing: (PreparedStatement | undefined)[] = [];
  /** Evicted names that have to be closed on the server. */
  readonly #forgotten = new Set<string>();
  readonly #salt = randomBytes(16).toString('base64url');
  readonly #isPooled: boolean;
  #epoch = 0;

  constructor({ statements, characters, isPooled = false }: NamesOptions) {
    this.#isPooled = isPooled;
    this.#byText = new LRUCache({
      max: statements,
      maxSize: characters,
      // A text above the limit takes all the room, but is kept: prepared statements have to be closed by name.
      sizeCalculation: (_prepared, text) => Math.max(1, Math.min(text.length, characters)),
      dispose: ({ name }, _text, reason) => reason === 'evict' && this.#forgotten.add(name),
    });
  }

  /** The name for a statement of a batch that relies on the batches before it to parse their statements. */
  use(text: string): UsedName {
    const known = this.#byText.get(text);
    return known ? { name: known.name, parse: false } : this.#parse(text);
  }

  /** The name for a statement that must not fail because a batch before it did. */
  useParsed(text: string): UsedName {
    const known = this.#byText.get(text);
    return known?.isParsed && !this.#isPooled ? { name: known.name, parse: false } : this.#parse(text);
  }

  /** A statement that is parsed for one use, without a name: the next such statement takes its place. */
  useOnce(text: string): UsedName {
    this.#parsing.push({ text, name: '', isParsed: false });
    return ONCE;
  }

  /** Takes the evicted names, which have to be closed on the server. */
  evicted(): readonly string[] {
    if (this.#forgotten.size === 0) return NONE;
    const names = [...this.#forgotten];
    this.#forgotten.clear();
    return names;
  }

  /** Enters an epoch: statements of earlier epochs are forgotten. */
  enter(epoch: number): void {
    if (epoch <= this.#epoch) return;
    this.#epoch = epoch;
    this.forget();
  }

  /** Forgets and closes all statements, or forgets those that were found missing or outdated. Each is parsed again. */
  forget(found?: Iterable<string>): void {
    for (const text of found ?? [...this.#byText.keys()]) {
      const known = this.#byText.peek(text);
      if (known && !found) this.#forgotten.add(known.name);
      this.#byText.delete(text);
    }
  }

  parseComplete(): void {
    const prepared = this.#parsing.shift();
    if (prepared) prepared.isParsed = true;
  }

  /** All statements of a batch have been used. */
  batchSent(): void {
    this.#parsing.push(undefined);
  }

  /** The oldest batch has ended; its statements without ParseComplete were not parsed. */
  batchEnded(): void {
    while (this.#parsing.length > 0) {
      const prepared = this.#parsing.shift();
      if (!prepared) return;
      if (this.#byText.peek(prepared.text) === prepared) this.#byText.delete(prepared.text);
    }
  }

  #parse(text: string): UsedName {
    const digest = hash('sha256', `${this.#salt}${this.#epoch} ${text}`, 'base64url').slice(
      0,
      DIGEST_CHARACTERS,
    );
    const prepared = { text, name: `gw${digest}`, isParsed: false };
    this.#byText.set(text, prepared);
    this.#forgotten.delete(prepared.name);
    this.#parsing.push(prepared);
    return { name: prepared.name, parse: true };
  }
}

const NONE: readonly string[] = [];
const ONCE: UsedName = { name: '', parse: true };
/** 96 bits. Each request sends the names of its statements. */
const DIGEST_CHARACTERS = 16;

/** Returns whether the server closes the connection after an error, or the session can no longer be relied upon. */
export function endsSession(error: WireError): boolean {
  const { code = '', severity } = error;
  if (severity === 'FATAL' || code.startsWith('08') || /^57P0[1-3]$/.test(code)) return true;
  return isMisnamed(error) || hasLostType(error);
}

/** Returns whether a type is gone: PL/pgSQL looks up the types of its variables once in each session. */
export function hasLostType(error: WireError): boolean {
  return hasLostObject(error) && error.message.startsWith('cache lookup failed for type ');
}

/**
 * Returns whether a prepared statement of the batch itself, and not of a function, is missing, stands for another one
 * or is outdated ("cached plan must not change result type").
 */
export function lostStatements(error: WireError): boolean {
  if (error.where !== undefined) return false;
  return isMisnamed(error) || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery');
}

/** SQLSTATEs of an unknown or duplicate statement name, and of values that do not fit the statement. */
function isMisnamed({ code, severity }: WireError): boolean {
  return code === '26000' || code === '42P05' || (code === '08P01' && severity === 'ERROR');
}

/**
 * Returns whether values or types did not fit: data exceptions, and errors of the server when it analyses an old
 * statement again ("operator does not exist", "cache lookup failed for type"). A missing privilege depends on no type.
 */
export function mayHaveOldTypes({ code = '' }: WireError): boolean {
  return /^(?:0A000|22|42|XX000)/.test(code) && code !== '42501';
}

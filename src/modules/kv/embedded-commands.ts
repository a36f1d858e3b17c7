import type { Reply, StoreCommand } from './commands.ts';
import type { HashRecord, KvRecord, Records, StringRecord } from './embedded-records.ts';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Range of the integers that a store keeps. */
const INT64 = { min: INT64_MIN, max: INT64_MAX } as const;

/** Parses a signed 64-bit integer as Redis does: no `+`, no leading zero, no blanks (redis util.c, string2ll). */
function parseInt64(bytes: Buffer): bigint | undefined {
  if (bytes.length === 0 || bytes.length > 20) return undefined;
  const text = bytes.toString('latin1');
  if (!/^(?:0|-?[1-9]\d*)$/.test(text)) return undefined;
  const value = BigInt(text);
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}

/** The records that a command works on, and the time. */
interface Environment {
  readonly records: Records;
  readonly nowMs: number;
}

/** One command, with `args` as in Redis. It throws Redis's own errors, before its first write. */
interface EmbeddedCommand {
  readonly writes: boolean;
  run(env: Environment, args: readonly Buffer[]): Reply;
}

const OK = Buffer.from('OK');
const PONG = Buffer.from('PONG');
const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';
const SECOND = 1_000n;

/** The commands, with the semantics of Redis 7.0. */
export const EMBEDDED_COMMANDS: { readonly [name in StoreCommand]: EmbeddedCommand } = {
  get: read((env, [key]) => stringAt(env, key as Buffer)?.value ?? null),
  mget: read(({ records, nowMs }, keys) =>
    keys.map((key) => {
      const record = records.get(key, nowMs);
      return record?.kind === 'string' ? record.value : null;
    }),
  ),
  exists: read(({ records, nowMs }, [key]) => count(records.get(key as Buffer, nowMs) !== undefined)),
  strlen: read((env, [key]) => String(stringAt(env, key as Buffer)?.value.length ?? 0)),
  ttl: read(({ records, nowMs }, [key]) => secondsLeft(records.get(key as Buffer, nowMs), nowMs)),
  pttl: read(({ records, nowMs }, [key]) => msLeft(records.get(key as Buffer, nowMs), nowMs)),
  ping: read(() => PONG),
  hget: read((env, [key, field]) => {
    if (!hashAt(env, key as Buffer)) return null;
    return env.records.getField(key as Buffer, field as Buffer) ?? null;
  }),
  set: write(({ records }, [key, value]) => {
    records.putString(key as Buffer, value as Buffer);
    return OK;
  }),
  del: write(({ records, nowMs }, [key]) => {
    const existed = records.get(key as Buffer, nowMs) !== undefined;
    records.delete(key as Buffer);
    return count(existed);
  }),
  incr: write((env, [key]) => add(env, key as Buffer, 1n)),
  decr: write((env, [key]) => add(env, key as Buffer, -1n)),
  expire: write((env, [key, seconds]) => expire(env, key as Buffer, seconds as Buffer)),
  hset: write((env, [key, field, value]) => {
    const hash = hashAt(env, key as Buffer);
    return count(
      env.records.putField({ key: key as Buffer, record: hash }, field as Buffer, value as Buffer),
    );
  }),
  hdel: write((env, [key, field]) => {
    const hash = hashAt(env, key as Buffer);
    return count(
      hash !== undefined && env.records.deleteField({ key: key as Buffer, record: hash }, field as Buffer),
    );
  }),
};

type Run = EmbeddedCommand['run'];

function read(run: Run): EmbeddedCommand {
  return { writes: false, run };
}

function write(run: Run): EmbeddedCommand {
  return { writes: true, run };
}

function count(yes: boolean): string {
  return yes ? '1' : '0';
}

function stringAt({ records, nowMs }: Environment, key: Buffer): StringRecord | undefined {
  const record = records.get(key, nowMs);
  if (record?.kind === 'hash') throw wrongType();
  return record;
}

function hashAt({ records, nowMs }: Environment, key: Buffer): HashRecord | undefined {
  const record = records.get(key, nowMs);
  if (record?.kind === 'string') throw wrongType();
  return record;
}

function wrongType(): Error {
  return new Error('WRONGTYPE Operation against a key holding the wrong kind of value');
}

function add(env: Environment, key: Buffer, step: bigint): string {
  const record = stringAt(env, key);
  const before = record ? parseInt64(record.value) : 0n;
  if (before === undefined) throw new Error(NOT_AN_INTEGER);
  const after = before + step;
  if (after < INT64.min || after > INT64.max) throw new Error('ERR increment or decrement would overflow');
  env.records.putString(key, Buffer.from(String(after)), record?.expiryMs);
  return String(after);
}

/** Sets an expiry; a time in the past deletes the key (redis expire.c, expireGenericCommand). */
function expire({ records, nowMs }: Environment, key: Buffer, seconds: Buffer): string {
  const given = parseInt64(seconds);
  if (given === undefined) throw new Error(NOT_AN_INTEGER);
  const expiryMs = given * SECOND + BigInt(nowMs);
  if (given > INT64.max / SECOND || given < INT64.min / SECOND || expiryMs > INT64.max) {
    throw new Error("ERR invalid expire time in 'expire' command");
  }
  const record = records.get(key, nowMs);
  if (!record) return '0';
  if (expiryMs <= nowMs) records.delete(key);
  else records.setExpiry(key, record, expiryMs);
  return '1';
}

/** Returns the remaining milliseconds; -1 without expiry, -2 without key. */
function msLeft(record: KvRecord | undefined, nowMs: number): string {
  if (!record) return '-2';
  return record.expiryMs === 0n ? '-1' : String(record.expiryMs - BigInt(nowMs));
}

/** Returns the remaining seconds, rounded to the nearest as in Redis; -1 without expiry, -2 without key. */
function secondsLeft(record: KvRecord | undefined, nowMs: number): string {
  if (!record) return '-2';
  if (record.expiryMs === 0n) return '-1';
  return String((record.expiryMs - BigInt(nowMs) + 500n) / SECOND);
}

/** The commands that both have, and how their path is built. */
export const COMMANDS = {
  get: 'key',
  set: 'key',
  del: 'key',
  incr: 'key',
  decr: 'key',
  expire: 'key',
  exists: 'key',
  ttl: 'key',
  strlen: 'key',
  hget: 'field',
  hset: 'field',
  hdel: 'field',
  mget: 'none',
  ping: 'none',
} as const satisfies Readonly<Record<string, string>>;

interface PathKind {
  /** Of the location; commands are written in any case. */
  readonly pattern: (command: string) => string;
  /** In front of `kv_pass`. */
  readonly directives: readonly (readonly string[])[];
}

/** The third part of a path, still encoded: in a query it would be decoded once more. */
export const FIELD_MAP = {
  args: ['$request_uri', '$webdis_field'],
  entry: ['~^/[^/?]+/[^/?]+/(?<encoded>[^/?]+)', '$encoded'],
} as const;

/** A captured key is decoded already, as Webdis decodes what stands between two slashes. */
export const KINDS: Readonly<Record<(typeof COMMANDS)[keyof typeof COMMANDS], PathKind>> = {
  key: { pattern: (command) => `^/${command}/(?<key>.+)$`, directives: [['kv_key', '$key']] },
  field: {
    pattern: (command) => `^/${command}/(?<key>[^/]+)/[^/]+$`,
    directives: [
      ['set', '$args', 'field=$webdis_field'],
      ['kv_key', '$key'],
    ],
  },
  none: { pattern: (command) => `^/${command}$`, directives: [] },
};
